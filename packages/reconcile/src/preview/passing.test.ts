// Time that passes in a preview, and statuses that end as they began.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, conditions, defineKind, formatTime, type KindOf, object, optional, string } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, conditionType, plan } from '../plan/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { preview } from './preview.ts';

const Copy = defineKind({
  group: 'passing.capstan.dev',
  version: 'v1',
  kind: 'Copy',
  scope: 'Namespaced',
  spec: object({ at: optional(string()), label: optional(string()) }),
  status: object({ conditions: conditions() }),
});
type Copy = KindOf<typeof Copy>;
const synced = conditionType<'Equal' | 'Differs'>('Synced');
const ref = (name: string) => ({ namespace: 'default', name });
const dataOf = ({ data }: ConfigMap) => data ?? {};

/** Copies the ConfigMap `input`, and from an instant on marks that it is due. */
const copies = operator({
  name: 'copies',
  kinds: [Copy],
  reconcilers: [
    reconciler<Copy>({
      name: 'copy',
      resource: Copy,
      reads: [reading(ConfigMap, 'referenced')],
      writes: [ConfigMap],
      reconcile({ object: { metadata, spec }, read }) {
        const { name = '' } = metadata;
        const data = read.get(ConfigMap, ref('input'), dataOf) ?? {};
        const isEqual = read.get(ConfigMap, ref(name), dataOf)?.['a'] === data['a'];
        const isDue = spec.at !== undefined && read.reached(spec.at);
        return plan({
          children: [
            apply(ConfigMap, { metadata: ref(name), data }),
            ...(isDue ? [apply(ConfigMap, { metadata: ref(`${name}-due`) })] : []),
          ],
          conditions: [isEqual ? synced.isTrue('Equal') : synced.isFalse('Differs', 'the copy is not written yet')],
        });
      },
    }),
  ],
});

const copy = (spec: Copy['spec']): Copy => ({ apiVersion: Copy.apiVersion, kind: Copy.kind, metadata: ref('c'), spec });
const input = (a: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: ref('input'),
  data: { a },
});

async function staged(check: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = await createStage({
    operators: [copies],
    given: async (client) => {
      await client.create(ConfigMap, input('1'));
      await client.create(Copy, copy({}));
    },
  });
  try {
    await stage.settle();
    await check(stage);
  } finally {
    await stage.end();
  }
}

describe('a preview', () => {
  test('shows what follows when time passes, as far as the change alone waits for it and it is near', () =>
    staged(async ({ client, clock, program, settle }) => {
      const at = (ms: number) => ({ kind: Copy, object: copy({ at: formatTime(clock.now() + ms) }) });
      const later = async (ms: number) =>
        (await preview(program.runtime, [at(ms)])).later.map(({ object: name, until }) => `${name}, once ${until}`);
      assert.deepEqual(await later(5000), ['ConfigMap default/c-due, once 5s have passed']);
      assert.deepEqual(await later(3_600_000), []);
      await client.patch(Copy, ref('c'), 'merge', { spec: { at: formatTime(clock.now() + 5000) } });
      await settle(1000);
      const labelled = { kind: Copy, object: copy({ at: formatTime(clock.now() + 5000), label: 'a' }) };
      assert.deepEqual((await preview(program.runtime, [labelled])).later, []);
    }));

  test('names an object that is due after the time that it covers, with the instant', () =>
    staged(async (stage) => {
      const { runtime } = stage.program;
      const due = async (ms: number) => {
        const at = formatTime(stage.clock.now() + ms);
        const result = await preview(runtime, [{ kind: Copy, object: copy({ at }) }]);
        return { at, due: result.due };
      };
      assert.deepEqual((await due(5 * 60_000)).due, []);
      const { at, due: found } = await due(3_600_000);
      assert.deepEqual(found, [{ object: 'Copy default/c', at }]);
      // The change does not move an instant that is waited for already.
      await stage.client.patch(Copy, ref('c'), 'merge', { spec: { at } });
      await stage.settle();
      const labelled = await preview(runtime, [{ kind: Copy, object: copy({ at, label: 'b' }) }]);
      assert.deepEqual(labelled.due, []);
    }));

  test('marks a status that ends as it began: it may be written in between or not', () =>
    staged(async ({ program }) => {
      const { writes } = await preview(program.runtime, [{ kind: ConfigMap, object: input('2') }]);
      assert.deepEqual(
        writes.map(({ verb, object: name, passing }) => [verb, name, passing]),
        [
          ['apply', 'ConfigMap default/c', undefined],
          ['status', 'Copy default/c', true],
          ['status', 'Copy default/c', true],
        ],
      );
    }));
});
