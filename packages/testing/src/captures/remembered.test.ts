import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, systemClock } from '@capstan/kube';
import { derivation, operator, plan, type RecordedHistory, reconciler } from '@capstan/reconcile';
import { createStage } from '../stage/stage.ts';
import { recordLives } from './record-lives.ts';

/** The highest number that an object had so far: its inputs no longer contain it. */
function highest(wrap: (number: number) => unknown) {
  return derivation({
    name: 'highest',
    compute({ key, read, previous }) {
      const [namespace = '', name = ''] = key.split('/');
      const now = Number(read.get(ConfigMap, { namespace, name })?.data?.['number'] ?? 0);
      const before = (previous as { number: number } | undefined)?.number ?? 0;
      return { number: Math.max(now, before), of: wrap(now) };
    },
    equals: (left, right) => left.number === right.number,
  });
}

function operatorWith(wrap: (number: number) => unknown) {
  const numbers = highest(wrap);
  return operator({
    name: 'memory',
    kinds: [],
    reconcilers: [
      reconciler({
        name: 'peak',
        resource: ConfigMap,
        reads: [ConfigMap],
        writesStatus: false,
        finalizer: false,
        reconcile: ({ object: { metadata }, read }) =>
          plan({
            events: [
              {
                type: 'Normal',
                reason: 'Peak',
                note: `${(read.derived(numbers, `${metadata.namespace}/${metadata.name}`) as { number: number }).number}`,
              },
            ],
          }),
      }),
    ],
  });
}

class Peak {
  readonly number: number;
  constructor(number: number) {
    this.number = number;
  }
}

const ref = { namespace: 'default', name: 'one' };
const config = (number: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: ref,
  data: { number: String(number) },
});

/** Numbers rise, fall and rise a little; the recording restarts with a snapshot after so many waves. */
async function recorded(snapshotAfter: number, wrap: (number: number) => unknown) {
  const lives = recordLives('replaced', { snapshotAfter });
  const operators = [operatorWith(wrap)];
  const record = lives.record({ clock: systemClock, operators });
  const stage = await createStage({ operators, runtime: { record } });
  try {
    await stage.client.create(ConfigMap, config(2));
    for (const number of [9, 4, 5, 3, 6]) {
      await stage.settle();
      await stage.client.patch(ConfigMap, ref, 'merge', { data: { number: String(number) } });
    }
    await stage.settle();
  } finally {
    await stage.end();
  }
  const [life] = lives.histories();
  assert.ok(life);
  return { life, report: lives.replay(life) };
}

const beginsWithSnapshot = ({ lines }: RecordedHistory) => lines.some((line) => 'snapshot' in line);

test('a replay that begins with a snapshot goes on from the results that functions remember', async () => {
  let remembered = 0;
  for (let after = 1; after <= 16; after++) {
    const { life, report } = await recorded(after, (number) => number);
    if (!beginsWithSnapshot(life)) continue;
    assert.deepEqual(report.differences, [], `with a snapshot after ${after} waves`);
    assert.deepEqual(report.unrestored, []);
    remembered += life.lines.filter((line) => 'previous' in line).length;
  }
  assert.ok(remembered > 0, 'no snapshot held a previous result');
});

test('a replay names the functions whose remembered results a snapshot cannot hold', async () => {
  const named = new Set<string>();
  for (let after = 1; after <= 16; after++)
    for (const name of (await recorded(after, (number) => new Peak(number))).report.unrestored) named.add(name);
  assert.deepEqual([...named], ['memory: highest']);
});
