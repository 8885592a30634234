// A registry of our own on loopback, with the two packages of this folder in it: built and pushed as a user would.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFolderStore, type RegistryStore, type RunningRegistry, startRegistry } from '../src/registry/index.ts';
import { xpkgCommand } from '../src/xpkg/commands/index.ts';

const SOURCES = fileURLToPath(new URL('./packages/', import.meta.url));
const PACKAGES = { 'provider-storage': 'v1.0.0', 'function-tags': 'v0.1.0' };

interface Context {
  /** The folder for its data. */
  readonly data: string;
  readonly signal: AbortSignal;
}

export default async function prepare({ data, signal }: Context): Promise<{ REGISTRY: string }> {
  await mkdir(data, { recursive: true });
  const store = await createFolderStore(join(data, 'registry'));
  const registry = await startOnSamePort(data, store, signal);
  for (const [name, version] of Object.entries(PACKAGES)) {
    const [file, stamp] = [join(data, `${name}.xpkg`), join(data, `${name}.sources`)];
    const sources = await digestOf(join(SOURCES, name));
    const pushed = await readFile(stamp, 'utf8').catch(() => '');
    // An earlier start of this cluster has pushed the same: it is pulled from the folder.
    if (pushed === sources && (await store.manifest(`demo/${name}`, version)) !== undefined) continue;
    await xpkg(data, signal, 'build', '-f', join(SOURCES, name), '-o', file);
    await xpkg(data, signal, 'push', '-f', file, `${registry.address}/demo/${name}:${version}`);
    await writeFile(stamp, sources);
  }
  return { REGISTRY: registry.address };
}

/** Returns the digest of the names and contents of all files below a folder. */
async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const bytes = await readFile(join(folder, name)).catch(() => undefined);
    if (bytes !== undefined) hash.update(`${name} ${bytes.length}\n`).update(bytes);
  }
  return hash.digest('hex');
}

/** Starts on the earlier port if it is free, so that packages that were installed from there can be pulled again. */
async function startOnSamePort(data: string, store: RegistryStore, signal: AbortSignal): Promise<RunningRegistry> {
  const file = join(data, 'port');
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
