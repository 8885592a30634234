import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, test } from 'node:test';
import { folderCycles, importsOfValues } from './folder-cycles.ts';
import { filesOfWorkspace, root } from './workspace-files.ts';

/** Packages whose README has a table of folders in the order in which they may import one another. */
const PACKAGES: readonly { readonly path: string; readonly exceptions: readonly string[] }[] = [
  { path: 'packages/kube', exceptions: [] },
  { path: 'packages/reconcile', exceptions: [] },
];

for (const { path, exceptions } of PACKAGES) {
  describe(`the folders of ${path}`, () => {
    const order = foldersOf(readFileSync(join(root, path, 'README.md'), 'utf8'));
    const sources = filesOfWorkspace().filter((file) => file.startsWith(`${path}/src/`) && isSource(file));

    test('are all in the table of the README', () => {
      const found = new Set(sources.map((file) => folderOf(path, file)).filter((folder) => folder !== undefined));
      assert.deepEqual([...found].toSorted(), order.toSorted());
    });

    test('import only those above them, types excepted', () => {
      const upwards = sources.flatMap((file) => {
        const from = folderOf(path, file);
        const text = readFileSync(join(root, file), 'utf8');
        return importsOfValues(text).flatMap((specifier) => {
          const to = folderOf(path, posix.join(posix.dirname(file), specifier));
          if (to === undefined || to === from || from === undefined) return [];
          return order.indexOf(to) < order.indexOf(from) ? [] : [`${from} imports ${to}`];
        });
      });
      assert.deepEqual([...new Set(upwards)], exceptions);
    });
  });
}

/** Parts of the workspace whose folders depend on one another one way. */
const PARTS = /^(?:packages|operators|apps)\/[a-z-]+\/(?:src|test)\//;

describe('the folders of every package, operator and program', () => {
  const all = filesOfWorkspace().filter((file) => PARTS.test(file));

  test('depend on their siblings one way, types and tests beside the code excepted', () => {
    const sources = all.filter(isSource);
    assert.ok(sources.length > 1000, `${sources.length} files`);
    assert.deepEqual(folderCycles(new Map(sources.map((file) => [file, readFileSync(join(root, file), 'utf8')]))), []);
  });

  test('have at most about 25 files', () => {
    const sizes = new Map<string, number>();
    for (const file of all) sizes.set(posix.dirname(file), (sizes.get(posix.dirname(file)) ?? 0) + 1);
    const large = [...sizes].filter(([folder, size]) => size > MOST_FILES && !GENERATED.test(folder));
    assert.deepEqual(large, []);
  });
});

describe('the files of the workspace', () => {
  test('have at most 400 lines, except for a list that only shrinks', () => {
    const tooLong = filesOfWorkspace()
      .filter((file) => file.endsWith('.ts') && !GENERATED.test(posix.dirname(file)))
      .map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').split('\n').length - 1 }))
      .filter(({ file, lines }) => lines > MOST_LINES && !LONG_FILES.has(file));
    assert.deepEqual(tooLong, [], 'split each at its second concept');
  });
});

const MOST_FILES = 26;
const MOST_LINES = 400;
const GENERATED = /\/gen(?:\/|$)/;

test('folders that import one another are found, through a third one too, at any depth', () => {
  // Written so, because a check of all imports reads this file too.
  const dynamically = 'import';
  const files = new Map([
    ['p/src/a/one.ts', "import { b } from '../b/one.ts';"],
    ['p/src/b/one.ts', "import { c } from '../c/one.ts';\nimport type { D } from '../d/one.ts';"],
    ['p/src/c/one.ts', `const { a } = await ${dynamically}('../a/one.ts');`],
    ['p/src/d/one.ts', "import { b } from '../b/one.ts';"],
    ['p/src/d/x/one.ts', "export { y } from '../y/one.ts';"],
    ['p/src/d/y/one.ts', "import { x } from '../x/one.ts';\nimport { top } from '../../top.ts';"],
    ['p/src/top.ts', "import { a } from './a/one.ts';"],
  ]);
  assert.deepEqual(folderCycles(files), [
    'p/src: a -> b (a/one.ts), b -> c (b/one.ts), c -> a (c/one.ts)',
    'p/src/d: x -> y (x/one.ts), y -> x (y/one.ts)',
  ]);
});

test('imports of values are distinguished from those of types', () => {
  const text = `
import { a, type B } from './one/x.ts';
import type { C } from './two/x.ts';
import { type D, type E } from './three/x.ts';
export { f } from './four/x.ts';
export type { G } from './five/x.ts';
const h = await import('./six/x.ts');
import { i } from '@capstan/kube';
`;
  assert.deepEqual(importsOfValues(text), ['./one/x.ts', './four/x.ts', './six/x.ts']);
});

test('every package that promises an order has a README', () => {
  for (const { path } of PACKAGES) assert.ok(existsSync(join(root, path, 'README.md')));
});

function foldersOf(readme: string): string[] {
  return [...readme.matchAll(/^\| `([a-z0-9-]+)\/` \|/gm)].map(([, name = '']) => name);
}

function isSource(file: string): boolean {
  return /\.tsx?$/.test(file) && !/\.test(?:-support)?\.tsx?$/.test(file);
}

/** The folder directly under src that a file is in; undefined for a file beside the folders. */
function folderOf(path: string, file: string): string | undefined {
  const [folder, ...rest] = file.slice(`${path}/src/`.length).split('/');
  return rest.length === 0 ? undefined : folder;
}

/** Files that were longer before the rule. None is added: split a long file at its second concept. */
const LONG_FILES: ReadonlySet<string> = new Set([
  'apps/capstan/src/plan/plan-routes.test.ts',
  'operators/sesame/src/kinds/configuration-spec.ts',
  'operators/sesame/src/kinds/http-proxy.ts',
  'operators/sesame/src/routing/proxy/proxy-route.ts',
  'operators/sesame/src/routing/proxy/translate-root.test.ts',
  'operators/sesame/src/routing/proxy/translate-root.ts',
  'operators/sesame/test/configuration/field-effects.ts',
  'operators/sesame/test/contour/cases.ts',
  'operators/sesame/test/migrate/migrate.test.ts',
  'operators/submariner/src/gateway/cable-engine.ts',
  'operators/submariner/test/commands.test.ts',
  'packages/apiserver/src/admission/admission-webhooks.test.ts',
  'packages/apiserver/src/http/hostile-requests.test.ts',
  'packages/apiserver/src/http/http-server.test.ts',
  'packages/apiserver/src/http/http-server.ts',
  'packages/apiserver/src/http/random-requests.test.ts',
  'packages/apiserver/src/rest/update.ts',
  'packages/apiserver/src/server.ts',
  'packages/apiserver/src/validation/validation.test.ts',
  'packages/console/src/server/console-server.test.ts',
  'packages/console/test/browser/fixtures.ts',
  'packages/node/test/kubectl/streams.test.ts',
  'packages/testing/src/stage/foretold/foretold.ts',
  'scripts/mutation/faults.ts',
]);
