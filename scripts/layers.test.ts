import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { importsOf, layerViolations, PACKAGE_ORDER } from './layers.ts';
import { filesOfWorkspace, type Manifest, readManifest, root } from './workspace-files.ts';

test('no part of the workspace imports what it may not', () => {
  const files = filesOfWorkspace();
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const sources = files.filter((file) => /\.tsx?$/.test(file));
  assert.ok(sources.length > 20, 'the sources were found');
  const manifests = files
    .filter((file) => file.endsWith('package.json'))
    .map((file): [string, Manifest] => [dirname(file).replace(/^\.$/, ''), readManifest(file)]);
  const violations = layerViolations({
    files: new Map(sources.map((file) => [file, read(file)])),
    manifests: new Map(manifests),
  });
  assert.deepEqual(violations, []);
});

describe('the order of layers', () => {
  const cases: [title: string, file: string, code: string, problem: RegExp | undefined][] = [
    [
      'a package may import one before it',
      'packages/reconcile/src/a.ts',
      "import { x } from '@capstan/kube';",
      undefined,
    ],
    [
      'a package may not import one after it',
      'packages/kube/src/a.ts',
      "import type { X } from '@capstan/reconcile';",
      /packages\/kube may not use packages\/reconcile/,
    ],
    [
      'a dynamic import counts',
      'packages/kube/src/a.ts',
      "const x = await import('@capstan/reconcile');",
      /may not use/,
    ],
    [
      'an export from elsewhere counts',
      'packages/kube/src/a.ts',
      "export {\n  x,\n} from '@capstan/reconcile';",
      /may not use/,
    ],
    ['a test may import the test tools', 'packages/kube/src/a.test.ts', "import '@capstan/testing';", undefined],
    ['so may what only tests use', 'packages/kube/src/a.test-support.ts', "import '@capstan/testing';", undefined],
    ['only a test may', 'packages/kube/src/a.ts', "import '@capstan/testing';", /may not use packages\/testing/],
    [
      'a test may import nothing else out of order',
      'packages/kube/src/a.test.ts',
      "import { x } from '@capstan/apiserver';",
      /may not use/,
    ],
    [
      'an operator may not import another',
      'operators/sesame/src/a.ts',
      "import { x } from '@capstan/gimbal';",
      /operators\/sesame may not use operators\/gimbal/,
    ],
    ['an operator may import a package', 'operators/sesame/src/a.ts', "import { x } from '@capstan/kube';", undefined],
    ['an app may import an operator', 'apps/capstan/src/a.ts', "import { x } from '@capstan/gimbal';", undefined],
    [
      'an app may not import the test tools',
      'apps/capstan/src/a.ts',
      "import { x } from '@capstan/testing';",
      /may not use/,
    ],
    [
      'the measurements may import the test tools',
      'bench/src/a.ts',
      "import { x } from '@capstan/testing';",
      undefined,
    ],
    [
      'no module imports another package by path',
      'packages/reconcile/src/a.ts',
      "import { x } from '../../kube/src/x.ts';",
      /by the name of their package/,
    ],
    [
      'no module imports another package by a deep name',
      'packages/reconcile/src/a.ts',
      "import { x } from '@capstan/kube/src/x.ts';",
      /does not export/,
    ],
    ['a package goes anywhere within itself', 'packages/kube/src/b/a.ts', "import { x } from '../x.ts';", undefined],
    [
      'what is imported must be listed',
      'packages/kube/src/a.ts',
      "import { x } from 'undici';",
      /not among the dependencies/,
    ],
    ['what is listed may be imported', 'apps/capstan/src/a.ts', "import { x } from 'undici';", undefined],
    [
      'tests may use the tools of the workspace',
      'packages/kube/src/a.test.ts',
      "import * as fc from 'fast-check';",
      undefined,
    ],
    ['code may not', 'packages/kube/src/a.ts', "import * as fc from 'fast-check';", /not among the dependencies/],
    ['a package without a place is found', 'packages/shiny/src/a.ts', '', /no part of the workspace/],
  ];
  for (const [title, file, code, problem] of cases) {
    test(title, () => {
      const violations = layerViolations({ files: new Map([[file, code]]), manifests: invented });
      if (problem === undefined) assert.deepEqual(violations, []);
      else assert.match(violations.join('\n'), problem);
    });
  }
});

test('imports are found on one line, on many, without a name, and not in comments', () => {
  const text = `
import a from 'a';
import {
  b,
} from 'b';
import 'c';
export * from 'd';
const e = await import('e');
// import f from 'f';
export const g = 'not an import';
`;
  assert.deepEqual(importsOf(text), ['a', 'b', 'c', 'd', 'e']);
});

const everything = Object.fromEntries(
  ['kube', 'reconcile', 'apiserver', 'node', 'testing', 'gimbal'].map((name) => [`@capstan/${name}`, '0.1.0']),
);

/** A workspace whose parts list everything they could want, so that only the order speaks; kube lists no library. */
const invented = new Map<string, Manifest>([
  ['', { devDependencies: { 'fast-check': '4.0.0' } }],
  ...PACKAGE_ORDER.map((name): [string, Manifest] => [`packages/${name}`, manifest(name)]),
  ['operators/sesame', manifest('sesame')],
  ['operators/gimbal', manifest('gimbal')],
  ['apps/capstan', { ...manifest('cli'), dependencies: { ...everything, undici: '8.0.0' } }],
  ['bench', manifest('bench')],
]);

function manifest(name: string): Manifest {
  return { name: `@capstan/${name}`, exports: { '.': './src/index.ts' }, dependencies: everything };
}
