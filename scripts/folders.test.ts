import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, test } from 'node:test';
import { filesOfWorkspace, root } from './workspace-files.ts';

/** Packages whose README has a table of folders in the order in which they may import one another. */
const PACKAGES: readonly { readonly path: string; readonly exceptions: readonly string[] }[] = [
  { path: 'packages/kube', exceptions: ['cel imports schema'] },
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

test('imports of values are told from those of types', () => {
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
  return file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.endsWith('.test-support.ts');
}

/** The folder directly under src that a file is in; undefined for a file beside the folders. */
function folderOf(path: string, file: string): string | undefined {
  const [folder, ...rest] = file.slice(`${path}/src/`.length).split('/');
  return rest.length === 0 ? undefined : folder;
}

/** Relative specifiers from which a module takes more than types. */
function importsOfValues(text: string): string[] {
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?([^;'"]*?)\s*from '(\.[^']+)'/gm);
  const taken = [...statements].flatMap(([, isType, names = '', specifier = '']) => {
    const listed = /^\{(.*)\}$/s
      .exec(names)?.[1]
      ?.split(',')
      .filter((name) => name.trim() !== '');
    const isTypesOnly = isType !== undefined || listed?.every((name) => name.trim().startsWith('type ')) === true;
    return isTypesOnly ? [] : [specifier];
  });
  const dynamic = [...text.matchAll(/\bimport\('(\.[^']+)'\)/g)].map(([, specifier = '']) => specifier);
  return [...taken, ...dynamic];
}
