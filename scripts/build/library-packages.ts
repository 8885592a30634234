// The libraries as npm packages: JavaScript with type declarations, file by file, so that stacks and debuggers show the sources'
// own structure. `@capstan/testing` needs the embedded API server, which is packed too.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const LIBRARIES = ['kube', 'reconcile', 'apiserver', 'testing'] as const;

interface Manifest {
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, string>>;
  /** The public exports, if they are fewer than those of the workspace. */
  readonly publishConfig?: { readonly exports: Readonly<Record<string, string>> };
  readonly [field: string]: unknown;
}

/** Writes a folder for each library below `folder`, which is emptied first. */
export function buildLibraryPackages(root: string, folder: string): readonly string[] {
  const work = mkdtempSync(join(tmpdir(), 'capstan-libraries-'));
  try {
    compile(root, work);
    rmSync(folder, { recursive: true, force: true });
    return LIBRARIES.map((name) => buildPackage(root, work, join(folder, name), name));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** All at once: each sees the others' sources. */
function compile(root: string, out: string): void {
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: root,
      outDir: out,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    },
    include: LIBRARIES.map((name) => join(root, 'packages', name, 'src/**/*.ts')),
    exclude: ['node_modules', 'test.ts', 'test-support.ts'].map((name) =>
      name === 'node_modules' ? join(root, '**/node_modules') : join(root, `packages/*/src/**/*.${name}`),
    ),
  };
  const file = join(out, 'tsconfig.json');
  writeFileSync(file, JSON.stringify(config));
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', file], { stdio: 'pipe', encoding: 'utf8' });
}

function buildPackage(root: string, work: string, to: string, name: string): string {
  const from = join(root, 'packages', name);
  mkdirSync(to, { recursive: true });
  cpSync(join(work, 'packages', name, 'src'), join(to, 'lib'), { recursive: true });
  useInternals(join(to, 'lib'));
  // Data that modules read from beside them.
  for (const file of globSync('src/**/*.json', { cwd: from })) {
    mkdirSync(join(to, dirname(file).replace(/^src/, 'lib')), { recursive: true });
    cpSync(join(from, file), join(to, file.replace(/^src/, 'lib')));
  }
  for (const [file, path] of [
    ['README.md', join(from, 'README.md')],
    ['LICENSE', join(root, 'LICENSE')],
  ] as const)
    if (existsSync(path)) cpSync(path, join(to, file));
  const {
    private: _private,
    exports,
    publishConfig,
    ...manifest
  } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Manifest;
  const built = {
    ...manifest,
    engines: { node: '>=24' },
    exports: Object.fromEntries(
      Object.entries(publishConfig?.exports ?? exports).map(([path, source]) => {
        const module = source.replace('./src/', './lib/').replace(/\.ts$/, '');
        return [path, { types: `${module}.d.ts`, default: `${module}.js` }];
      }),
    ),
    files: ['lib'],
  };
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(built, undefined, 2)}\n`);
  return to;
}

/** The libraries use more of each other than they export to others. */
function useInternals(folder: string): void {
  for (const file of globSync('**/*.{js,d.ts}', { cwd: folder })) {
    const text = readFileSync(join(folder, file), 'utf8');
    const changed = text.replaceAll(/(['"])(@capstan\/(?:kube|reconcile|testing))\1/g, '$1$2/internal$1');
    if (changed !== text) writeFileSync(join(folder, file), changed);
  }
}
