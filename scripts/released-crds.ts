// The CustomResourceDefinitions of the last release, and the breaking changes since.
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BreakingChange, type CustomResourceDefinition, compareCrds } from '@capstan/kube';
import { parse, stringify } from 'yaml';

/** Returns the breaking changes of the present CRDs, one sentence each; only versions that promise stability (v1, v2, …) count. */
export function checkReleasedCrds(folder: string, crds: readonly CustomResourceDefinition[]): string[] {
  const current = new Map(crds.map((crd) => [crd.metadata.name, crd]));
  return releasedCrds(folder).flatMap((released) => {
    const name = released.metadata.name ?? '';
    const successor = current.get(name);
    const stable = released.spec.versions.filter((version) => version.served && isStable(version.name));
    if (stable.length === 0) return [];
    if (!successor) return [`${name}: the kind was removed`];
    return compareCrds(released, successor)
      .filter(({ version }) => version === undefined || isStable(version))
      .map((change) => `${name}: ${sentence(change)}`);
  });
}

/** Keeps the CRDs as those of the release that is being created. */
export function recordReleasedCrds(folder: string, crds: readonly CustomResourceDefinition[]): void {
  mkdirSync(folder, { recursive: true });
  for (const crd of crds) writeFileSync(join(folder, `${crd.metadata.name}.yaml`), stringify(crd, { lineWidth: 0 }));
}

/** The CRDs of all operators: those of the kinds that their operator.ts exports, alone or in a `kinds` list. */
export async function crdsOfOperators(root: string): Promise<CustomResourceDefinition[]> {
  const crds = new Map<string | undefined, CustomResourceDefinition>();
  for (const file of globSync('operators/*/src/operator.ts', { cwd: root }).toSorted()) {
    const module: unknown = await import(pathToFileURL(join(root, file)).href);
    for (const crd of crdsWithin(module)) crds.set(crd.metadata.name, crd);
  }
  return [...crds.values()];
}

function releasedCrds(folder: string): CustomResourceDefinition[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  // Written by recordReleasedCrds.
  return files.toSorted().map((file) => parse(readFileSync(join(folder, file), 'utf8')) as CustomResourceDefinition);
}

function isStable(version: string): boolean {
  return /^v\d+$/.test(version);
}

function sentence({ version, message }: BreakingChange): string {
  return version === undefined ? message : `${version}: ${message}`;
}

function crdsWithin(value: unknown, depth = 0): CustomResourceDefinition[] {
  if (typeof value !== 'object' || value === null || depth > 2) return [];
  if (hasCrd(value)) return [value.crd()];
  const parts: unknown[] =
    Array.isArray(value) || depth === 0 ? Object.values(value) : 'kinds' in value ? [value.kinds] : [];
  return parts.flatMap((part) => crdsWithin(part, Array.isArray(value) ? depth : depth + 1));
}

function hasCrd(value: object): value is { crd(): CustomResourceDefinition } {
  return 'crd' in value && typeof value.crd === 'function';
}
