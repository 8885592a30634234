import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Namespace } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { derivation } from './derivation.ts';
import { fold } from './fold.ts';

let parts = 0;
const amountOf = (map: ConfigMap) => {
  parts++;
  return Number(map.data?.['amount'] ?? 0);
};

/** The total of all amounts in a namespace. */
const total = fold<ConfigMap, number, { sum: number }, number>({
  name: 'total',
  kind: ConfigMap,
  where: (namespace) => ({ namespace }),
  part: amountOf,
  empty: () => ({ sum: 0 }),
  put: (state, _member, part, previous = 0) => {
    state.sum += part - previous;
  },
  remove: (state, _member, part) => {
    state.sum -= part;
  },
  result: ({ sum }) => sum,
});

const doubled = derivation<number>({
  name: 'doubled',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    return 2 * Number(read.get(ConfigMap, { namespace, name })?.data?.['amount'] ?? 0);
  },
});
const everything = fold<ConfigMap, number, Map<string, number>, number>({
  name: 'everything',
  kind: ConfigMap,
  part: doubled,
  empty: () => new Map(),
  put: (state, member, part) => void state.set(member, part),
  remove: (state, member) => void state.delete(member),
  result: (state) => [...state.values()].reduce((sum, part) => sum + part, 0),
});

const summary = reconciler<Namespace>({
  name: 'summary',
  resource: Namespace,
  reads: [reading(ConfigMap, 'everywhere')],
  writes: [Namespace],
  reconcile({ object, read }) {
    if (object.metadata.name !== 'default') return plan({});
    const annotations = {
      total: String(read.derived(total, 'default')),
      everything: String(read.derived(everything, '')),
    };
    return plan({ children: [apply(Namespace, { metadata: { name: 'sums', annotations } })] });
  },
});

const mapOf = (name: string, amount: number): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { amount: String(amount) },
});

describe('a fold', () => {
  test('follows its members, and a change costs one part however many there are', async () => {
    const stage = await createStage({
      operators: [operator({ name: 'test', kinds: [], reconcilers: [summary] })],
      given: async (client) => {
        for (let index = 0; index < 100; index++) await client.create(ConfigMap, mapOf(`m${index}`, 1));
      },
    });
    const sums = async () => (await stage.client.get(Namespace, { name: 'sums' })).metadata.annotations;
    assert.equal((await sums())?.['total'], '100');
    assert.equal((await sums())?.['everything'], '200');
    parts = 0;
    await stage.client.update(ConfigMap, mapOf('m7', 51));
    await stage.settle();
    assert.equal((await sums())?.['total'], '150');
    assert.equal((await sums())?.['everything'], '300');
    assert.ok(parts < 20, `${parts} parts were looked at for one change`);
    await stage.client.delete(ConfigMap, { namespace: 'default', name: 'm7' });
    await stage.settle();
    assert.equal((await sums())?.['total'], '99');
    await stage.end();
  });
});
