// A registry of our own on loopback, with the two packages of this folder in it: built and pushed as a user would.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFolderStore, type RunningRegistry, startRegistry } from '../src/registry/index.ts';
import { xpkgCommand } from '../src/xpkg/commands/index.ts';

const SOURCES = fileURLToPath(new URL('./packages/', import.meta.url));
const PACKAGES = { 'provider-storage': 'v1.0.0', 'function-tags': 'v0.1.0' };

interface Context {
  /** A folder of its own for what it keeps. */
  readonly data: string;
  readonly signal: AbortSignal;
}

export default async function prepare({ data, signal }: Context): Promise<{ REGISTRY: string }> {
  await mkdir(data, { recursive: true });
  const registry = await startOnSamePort(data, signal);
  for (const [name, version] of Object.entries(PACKAGES)) {
    const file = join(data, `${name}.xpkg`);
    await xpkg(data, signal, 'build', '-f', join(SOURCES, name), '-o', file);
    await xpkg(data, signal, 'push', '-f', file, `${registry.address}/demo/${name}:${version}`);
  }
  return { REGISTRY: registry.address };
}

/** The port of the time before, where it is free: what was installed from there can be pulled again. */
async function startOnSamePort(data: string, signal: AbortSignal): Promise<RunningRegistry> {
  const file = join(data, 'port');
  const store = await createFolderStore(join(data, 'registry'));
  const known = Number(await readFile(file, 'utf8').catch(() => '0'));
  const registry = await startRegistry({ store, signal, port: known }).catch(() => startRegistry({ store, signal }));
  await writeFile(file, registry.address.slice(registry.address.lastIndexOf(':') + 1));
  return registry;
}

async function xpkg(cwd: string, signal: AbortSignal, ...argv: string[]): Promise<void> {
  const detail: string[] = [];
  const hear = (text: string) => void detail.push(text);
  const code = await xpkgCommand(argv, { stdout: hear, stderr: hear, env: {}, cwd, signal });
  if (code !== 0) throw new Error(`crossplane xpkg ${argv.join(' ')} ended with ${code}: ${detail.join('')}`);
}
