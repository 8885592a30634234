// Definitions of the permitted size, and the first object of their kinds, do not stop the process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiResponse, createRuleEvaluator, systemClock } from '@capstan/kube';
import { ADMIN } from '../core.ts';
import { longestTurn } from '../event-loop.test-support.ts';
import { testServer } from '../server.test-support.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const fields = (count: number, field: (index: number) => object) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, field(index)]));
const ruled = (rule: string) => ({ type: 'string', maxLength: 5, 'x-kubernetes-validations': [{ rule }] });
const joined = (count: number, part: (index: number) => string, separator: string) =>
  Array.from({ length: count }, (_, index) => part(index)).join(separator);

const definitions: [name: string, properties: object, status: number][] = [
  ['with 6,000 rules', fields(6_000, (index) => ruled(`self != '${index}'`)), 201],
  ['with rules of 4,000 terms', fields(10, () => ruled(joined(4_000, (term) => `self == 'a${term}'`, ' || '))), 201],
  [
    'with lists of 12,000 values in rules',
    fields(5, () => ruled(`self in [${joined(12_000, (i) => `'${i}'`, ',')}]`)),
    201,
  ],
  ['with 6,000 rules that do not compile', fields(6_000, () => ruled('self +')), 422],
  ['with rules on each of 150 levels', nested(150), 201],
];

function nested(levels: number): object {
  let schema: object = { type: 'object', properties: fields(2_000, () => ({ type: 'string' })) };
  for (let level = 0; level < levels; level += 1) {
    schema = { type: 'object', properties: { below: schema }, 'x-kubernetes-validations': [{ rule: 'true' }] };
  }
  return { below: schema };
}

for (const [name, properties, expected] of definitions) {
  test(`a definition ${name} does not occupy the event loop`, async (t) => {
    const { server } = testServer({ clock: systemClock, evaluateRule: createRuleEvaluator() });
    t.after(() => server.close());
    const spec = { type: 'object', properties };
    const body = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'larges.example.dev' },
      spec: {
        group: 'example.dev',
        scope: 'Namespaced',
        names: { plural: 'larges', singular: 'large', kind: 'Large', listKind: 'LargeList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
          },
        ],
      },
    };
    const source = { text: JSON.stringify(body) };
    const longest = await longestTurn(async () => {
      const request = { method: 'POST', path: CRDS, query: {}, body } as const;
      const answer = (await server.handle(request, { user: ADMIN, isPaced: true, source })) as ApiResponse;
      assert.equal(answer.status, expected);
    });
    // The checks took 0.2 to 130 s in one step before. A step ends after 10 ms, or with a rule of the largest size.
    assert.ok(longest < 300, `${Math.round(longest)} ms`);
  });
}

test('a definition with null in the place of a schema is refused, and not answered with an internal error', async (t) => {
  const { server, send } = testServer({ evaluateRule: createRuleEvaluator() });
  t.after(() => server.close());
  const list = { type: 'array', items: { type: 'object', properties: { name: null } } };
  const openAPIV3Schema = { type: 'object', properties: { spec: null, list } };
  const { status } = await send('POST', CRDS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'nulls.example.dev' },
    spec: {
      group: 'example.dev',
      scope: 'Namespaced',
      names: { plural: 'nulls', singular: 'null', kind: 'Null', listKind: 'NullList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  });
  assert.ok(status >= 400 && status < 500, String(status));
});
