// A registry of our own with small packages in it, each with a type of its own, and the cache that they were pulled into.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRegistrySource, type PackageSource, startRegistry, xpkgCommand } from '@capstan/crossplane';

export interface Packages {
  readonly source: PackageSource;
  /** Requests to the registry so far. */
  readonly requests: readonly string[];
  imageOf(index: number): string;
  close(): Promise<void>;
}

export async function createPackages(count: number): Promise<Packages> {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-bench-'));
  const requests: string[] = [];
  const registry = await startRegistry({ onRequest: ({ method, path }) => requests.push(`${method} ${path}`) });
  const imageOf = (index: number) => `${registry.address}/bench/provider-${index}:v1.0.0`;
  const source = createRegistrySource({ cacheDir: join(folder, 'cache'), registry: registry.address });
  const signal = new AbortController().signal;
  for (let index = 0; index < count; index++) {
    const root = join(folder, `p${index}`);
    await mkdir(root);
    await writeFile(join(root, 'crossplane.yaml'), META);
    await writeFile(join(root, 'crd.yaml'), crd(index));
    const file = join(folder, `p${index}.xpkg`);
    await xpkg(folder, 'build', '-f', root, '-o', file);
    await xpkg(folder, 'push', '-f', file, imageOf(index));
    // Into the cache, as after an earlier run.
    const digest = await source.resolve(imageOf(index), { secrets: [], signal });
    await source.pull(imageOf(index).replace(/:v1\.0\.0$/, `@${digest}`), { secrets: [], signal });
  }
  return {
    source,
    requests,
    imageOf,
    async close() {
      await registry.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const META = 'apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: provider}\n';

const crd = (index: number) => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things${index}.bench.example}
spec:
  group: bench.example
  names: {kind: Thing${index}, plural: things${index}}
  scope: Cluster
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`;

async function xpkg(cwd: string, ...argv: string[]): Promise<void> {
  const detail: string[] = [];
  const io = { stdout: () => {}, stderr: (text: string) => detail.push(text), env: {}, cwd };
  const code = await xpkgCommand(argv, { ...io, signal: new AbortController().signal });
  if (code !== 0) throw new Error(`crossplane xpkg ${argv.join(' ')}: ${detail.join('')}`);
}
