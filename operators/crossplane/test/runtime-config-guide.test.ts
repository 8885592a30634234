// The examples of docs/crossplane-runtime-config.md work as described.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isJsonObject, loadBuiltinSchemas } from '@capstan/kube';
import { parseAllDocuments } from 'yaml';
import { convertFiles } from '../src/convert/index.ts';
import { normalizeRuntimeConfig, RUNTIMES, resolveConfigReference } from '../src/runtime/index.ts';

const text = readFileSync(new URL('../../../docs/crossplane-runtime-config.md', import.meta.url), 'utf8');
const blocks = [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, block = '']) => block);
const schemas = loadBuiltinSchemas();

test('every config of the guide can be used as it stands', () => {
  let found = 0;
  for (const block of blocks) {
    for (const document of parseAllDocuments(block)) {
      const object: unknown = document.toJS();
      if (!isJsonObject(object) || object['kind'] !== 'DeploymentRuntimeConfig') continue;
      const { errors, warnings } = normalizeRuntimeConfig(object, schemas);
      assert.deepEqual([...errors, ...warnings], []);
      found++;
    }
  }
  assert.equal(found, 2);
});

test('the references of the guide can be used', () => {
  const references = blocks.flatMap((block) =>
    parseAllDocuments(block).flatMap((document) => {
      const ref: unknown = document.getIn(['spec', 'runtimeConfigRef']);
      return ref === undefined ? [] : [(document.toJS() as { spec: { runtimeConfigRef: { name: string } } }).spec];
    }),
  );
  assert.equal(references.length, 2);
  for (const { runtimeConfigRef } of references)
    assert.deepEqual(resolveConfigReference(RUNTIMES.Deployment, runtimeConfigRef, 'beta'), {
      config: runtimeConfigRef,
    });
});

test('the conversion of the guide is what the command prints', () => {
  const index = blocks.findIndex((block) => block.includes('kind: ControllerConfig'));
  const { texts, findings } = convertFiles([{ name: 'guide', text: blocks[index] ?? '' }], { schemas });
  assert.equal(texts[0], blocks[index + 1]);
  assert.deepEqual(findings, []);
});
