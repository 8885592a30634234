// Which part of the workspace may import which. The order of packages is the architecture's; a new package is added here.
import { posix } from 'node:path';
import type { Manifest } from './workspace-files.ts';

/** Each may import those before it. */
export const PACKAGE_ORDER = ['kube', 'reconcile', 'console', 'apiserver', 'node', 'testing'];

export interface Workspace {
  /** Text of every TypeScript file by its path from the root. */
  files: ReadonlyMap<string, string>;
  /** Every package.json by its folder; the root's is under the empty string. */
  manifests: ReadonlyMap<string, Manifest>;
}

/** Returns the imports that the code should not have, one sentence each. */
export function layerViolations({ files, manifests }: Workspace): string[] {
  const folders = new Map([...manifests].map(([folder, { name }]) => [name, folder]));
  const found: string[] = [];
  for (const [file, text] of files) {
    const from = unitOf(file);
    if (from === undefined) {
      found.push(
        `${file} lies in no part of the workspace that has a place in the order of layers (scripts/layers.ts)`,
      );
      continue;
    }
    for (const specifier of importsOf(text)) {
      const problem = specifier.startsWith('.')
        ? problemOfPath(file, from, specifier)
        : problemOfName(file, from, specifier, folders, manifests);
      if (problem !== undefined) found.push(`${file} imports ${specifier}: ${problem}`);
    }
  }
  return found;
}

/** Returns the imports of a file, static or not. */
export function importsOf(text: string): string[] {
  const found = [...text.matchAll(STATIC_IMPORT), ...text.matchAll(DYNAMIC_IMPORT)];
  return [...new Set(found.flatMap(({ groups }) => groups?.['from'] ?? []))];
}

const STATIC_IMPORT = /^(?:import|export)\s(?:[^'"`;]*?\sfrom\s*)?['"](?<from>[^'"\n]+)['"]/gm;
const DYNAMIC_IMPORT = /\bimport\(\s*['"](?<from>[^'"\n]+)['"]/g;

interface Unit {
  tier: 'package' | 'operator' | 'app' | 'bench' | 'docs' | 'scripts';
  /** From the root, without a slash at its end. */
  folder: string;
  name: string;
}

const TIERS: Record<string, Unit['tier']> = {
  packages: 'package',
  operators: 'operator',
  apps: 'app',
  bench: 'bench',
  docs: 'docs',
  scripts: 'scripts',
};

function unitOf(path: string): Unit | undefined {
  const [top = '', second = ''] = path.split('/');
  const tier = TIERS[top];
  if (tier === undefined || (tier === 'package' && !PACKAGE_ORDER.includes(second))) return undefined;
  const isGroup = tier === 'package' || tier === 'operator' || tier === 'app';
  return isGroup ? { tier, folder: `${top}/${second}`, name: second } : { tier, folder: top, name: top };
}

function problemOfPath(file: string, from: Unit, specifier: string): string | undefined {
  const target = posix.join(posix.dirname(file), specifier);
  if (target.startsWith(`${from.folder}/`)) return undefined;
  return `it leaves ${from.folder}; other parts are imported by the name of their package`;
}

/** Run in a checkout only, with its development dependencies. A package has the results. */
const BUILD_FILES: ReadonlySet<string> = new Set(['packages/console/src/page/build-page.ts']);

function problemOfName(
  file: string,
  from: Unit,
  specifier: string,
  folders: ReadonlyMap<string | undefined, string>,
  manifests: ReadonlyMap<string, Manifest>,
): string | undefined {
  if (specifier.startsWith('node:')) return undefined;
  const parts = specifier.split('/');
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
  const folder = folders.get(name);
  // Modules that only tests use count as tests: `x.test-support.ts` beside the code, and everything in a `test/` folder.
  const isTest = /\.test(-support)?\.tsx?$|\/test\//.test(file);
  const isTestTool = isTest && name === '@capstan/testing';
  if (folder !== undefined) {
    const entry = `.${specifier.slice(name.length)}`;
    if (manifests.get(folder)?.exports?.[entry] === undefined) return `${name} does not export ${entry}`;
    const to = unitOf(folder);
    const isItself = folder === from.folder;
    if (isItself) return 'a part imports its own files by path';
    if (to === undefined || !(isTestTool || mayImport(from, to))) return `${from.folder} may not use ${folder}`;
  } else if (name.startsWith('@capstan/')) {
    return 'there is no such package in the workspace';
  }
  return isTestTool || isListed(name, from, isTest || BUILD_FILES.has(file), manifests)
    ? undefined
    : `it is not among the dependencies in ${posix.join(from.folder, 'package.json')}`;
}

function mayImport(from: Unit, to: Unit): boolean {
  const isPackage = to.tier === 'package';
  const isTesting = isPackage && to.name === 'testing';
  const allowed: Record<Unit['tier'], boolean> = {
    package: isPackage && PACKAGE_ORDER.indexOf(to.name) < PACKAGE_ORDER.indexOf(from.name),
    operator: isPackage && !isTesting,
    docs: isPackage && !isTesting,
    app: !isTesting && to.tier !== 'bench',
    bench: true,
    scripts: true,
  };
  return allowed[from.tier];
}

/** Docs and scripts have no package.json of their own, and the tools of tests are the whole workspace's. */
function isListed(name: string, from: Unit, isTest: boolean, manifests: ReadonlyMap<string, Manifest>): boolean {
  const own = manifests.get(from.folder);
  if (own === undefined) return true;
  const root = manifests.get('');
  return [own.dependencies, isTest ? own.devDependencies : {}, isTest ? root?.devDependencies : {}].some(
    (list) => list?.[name] !== undefined,
  );
}
