// Every function that an author gives throws once for one object, in each of three ways. The error is on that object, the others go
// on, and the corrected object heals without a restart.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, findCondition, Secret } from '@capstan/kube';
import { operator } from '../../operator.ts';
import { plan } from '../../plan/index.ts';
import { reading, reconciler, writing } from '../../reconciler.ts';
import { onRuntime, ref, Thing, thing } from '../runtime.test-support.ts';
import { cases } from './contained-functions.test-support.ts';

/** The thrown values: an error, nothing, and an object that cannot be read. */
const THROWN: Record<string, () => unknown> = {
  'an error': () => new Error('out of order'),
  undefined: () => undefined,
  'an object that cannot be read': () =>
    new Proxy(
      {},
      {
        get() {
          throw new Error('no');
        },
        getPrototypeOf() {
          throw new Error('no');
        },
      },
    ),
};

/** It fails while the object goes: there is nothing left to show it on. */
const AT_REMOVAL = new Set(['the remove of a fold']);

describe('a function that throws is contained:', () => {
  for (const [name, contained] of Object.entries(cases))
    for (const [how, thrown] of Object.entries(THROWN))
      test(`${name}, which throws ${how}`, async () => {
        let isFixed = false;
        const failed: string[] = [];
        const {
          shows = /threw/,
          inStatus,
          sinks = [],
          ...parts
        } = contained((value) => {
          if (value === 'bad' && !isFixed) throw thrown();
        });
        const watching = reconciler<Thing>({
          name: 'watching',
          resource: Thing,
          reads: [reading(ConfigMap, 'everywhere')],
          writes: [writing(Secret, 'mint')],
          reconcile: () => plan(),
          ...parts,
        });
        const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [watching], sinks })];
        const observe = { failed: (what: string) => void failed.push(what) };
        await onRuntime({ operators, observe, checkFields: false }, async ({ client, clock }) => {
          await client.create(Thing, thing('good', 'one'));
          await clock.advance(5000);
          await client.create(Thing, thing('bad', AT_REMOVAL.has(name) ? 'one' : 'fine'));
          await clock.advance(5000);
          await client.patch(Thing, ref('bad'), 'merge', { spec: { value: 'bad' } });
          await clock.advance(120_000);
          const { status } = await client.get(Thing, ref('bad'));
          const text = inStatus ? status?.seen : findCondition(status?.conditions, 'ReconcileError')?.message;
          if (!AT_REMOVAL.has(name)) assert.match(text ?? '', shows);
          await client.patch(Thing, ref('good'), 'merge', { spec: { value: 'two' } });
          await clock.advance(120_000);
          const other = (await client.get(Thing, ref('good'))).status;
          assert.match(other?.seen ?? '', /^two/);
          assert.equal(findCondition(other?.conditions, 'ReconcileError'), undefined, 'the other object');
          await client.patch(Thing, ref('bad'), 'merge', { spec: { value: 'fixed' } });
          await clock.advance(600_000);
          for (const [healed, value] of [
            ['bad', /^(fixed|default)/],
            ['good', /^two/],
          ] as const) {
            const after = (await client.get(Thing, ref(healed))).status;
            assert.match(after?.seen ?? '', value, healed);
            assert.equal(findCondition(after?.conditions, 'ReconcileError'), undefined, `${healed} heals`);
          }
          isFixed = true;
        });
      });
});
