import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { defineKind, integer, object, string } from '@capstan/kube';
import { checkReleasedCrds, crdsOfOperators, recordReleasedCrds } from './released-crds.ts';
import { root } from './workspace-files.ts';

test('no kind of an operator breaks what was released', async () => {
  assert.deepEqual(checkReleasedCrds(join(root, 'docs/released-crds'), await crdsOfOperators(root)), []);
});

const base = { group: 'example.io', kind: 'Cable', scope: 'Namespaced' as const };
const spec = object({ mtu: integer({ default: 1500 }), name: string({ optional: true }) });
const narrower = object({ mtu: integer({ default: 1400 }), key: string() });

function inFolder(run: (folder: string) => void | Promise<void>): () => Promise<void> {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'released-crds-'));
    try {
      await run(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
}

test(
  'a breaking change of a v1 kind fails and names the field and the change',
  inFolder((folder) => {
    recordReleasedCrds(folder, [defineKind({ ...base, version: 'v1', spec }).crd()]);
    assert.deepEqual(checkReleasedCrds(folder, [defineKind({ ...base, version: 'v1', spec }).crd()]), []);
    assert.deepEqual(checkReleasedCrds(folder, [defineKind({ ...base, version: 'v1', spec: narrower }).crd()]), [
      'cables.example.io: v1: spec.key: the field is required now',
      'cables.example.io: v1: spec.mtu: the default 1500 changed to 1400',
      'cables.example.io: v1: spec.name: the field was removed',
    ]);
    assert.deepEqual(checkReleasedCrds(folder, []), ['cables.example.io: the kind was removed']);
  }),
);

test(
  'alpha and beta versions may change',
  inFolder((folder) => {
    recordReleasedCrds(folder, [defineKind({ ...base, version: 'v1alpha1', spec }).crd()]);
    assert.deepEqual(
      checkReleasedCrds(folder, [defineKind({ ...base, version: 'v1alpha1', spec: narrower }).crd()]),
      [],
    );
    assert.deepEqual(checkReleasedCrds(folder, []), []);
  }),
);

test('before the first release there is nothing to break', () => {
  assert.deepEqual(checkReleasedCrds(join(tmpdir(), 'there-is-no-such-folder'), []), []);
});

test(
  'the kinds of operators are found wherever operator.ts exports them',
  inFolder(async (folder) => {
    const crd = (name: string) => `{ crd: () => ({ metadata: { name: '${name}' } }) }`;
    const code = `export const A = ${crd('a')};\nexport const operator = { name: 'x', kinds: [${crd('b')}, ${crd('a')}] };\n`;
    mkdirSync(join(folder, 'operators/x/src'), { recursive: true });
    writeFileSync(join(folder, 'operators/x/src/operator.ts'), code);
    assert.deepEqual(
      (await crdsOfOperators(folder)).map(({ metadata }) => metadata.name),
      ['a', 'b'],
    );
  }),
);
