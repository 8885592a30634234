import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, conditions, defineKind, type KindOf, object, optional, Service, string } from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { derivation } from '../read/index.ts';
import { reading, reconciler } from '../reconciler.ts';
import { sink } from '../sinks/index.ts';

const Settings = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Settings',
  plural: 'settings',
  scope: 'Namespaced',
  spec: object({ on: string() }),
  status: object({ conditions: conditions() }),
});
type Settings = KindOf<typeof Settings>;
const Thing = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Thing',
  scope: 'Namespaced',
  spec: object({ value: string() }),
  status: object({ conditions: conditions(), seen: optional(string()) }),
});
type Thing = KindOf<typeof Thing>;

const ref = (name: string) => ({ namespace: 'default', name });
const isOn = derivation<boolean>({
  name: 'is-on',
  compute: ({ read }) => read.get(Settings, ref('main'), ({ spec }) => spec.on) === 'yes',
});
const valueOf = derivation<string>({
  name: 'value',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    return read.get(Thing, { namespace, name }, ({ spec }) => spec.value) ?? '';
  },
});

function parts() {
  const batches: string[] = [];
  const settings = reconciler<Settings>({ name: 'settings', resource: Settings, reconcile: () => plan() });
  const things = reconciler<Thing>({
    name: 'things',
    resource: Thing,
    enabled: isOn,
    reads: [Service],
    writes: [ConfigMap],
    reconcile: ({ object: { metadata, spec } }) =>
      plan({ children: [apply(ConfigMap, { metadata: ref(metadata.name ?? ''), data: { value: spec.value } })] }),
  });
  const values = sink<string>({
    name: 'values',
    of: valueOf,
    keys: Thing,
    reads: [Settings, reading(Thing, 'everywhere')],
    enabled: isOn,
    lease: 'none',
    onLost: 'withdraw',
    open: () => ({
      take({ changes, snapshot, withdrawal }) {
        const head = snapshot ? 'snapshot ' : withdrawal ? 'withdrawal ' : '';
        batches.push(`${head}${changes.map(({ key, after }) => `${key}=${after ?? '-'}`).join(' ')}`);
      },
      close: () => void batches.push('closed'),
    }),
  });
  const operators = [
    operator({ name: 'x', kinds: [Settings, Thing], reconcilers: [settings, things], sinks: [values] }),
  ];
  return { batches, operators };
}

async function turn(stage: Stage, on: string): Promise<void> {
  await stage.client.patch(Settings, ref('main'), 'merge', { spec: { on } });
  await stage.settle();
}

test('a reconciler and a sink run while their derivation says so; what was written stays, what was delivered is withdrawn', async () => {
  const { batches, operators } = parts();
  const stage = await createStage({
    operators,
    given: async (client) => {
      await client.create(Settings, {
        apiVersion: Settings.apiVersion,
        kind: 'Settings',
        metadata: ref('main'),
        spec: { on: 'no' },
      });
      await client.create(Thing, {
        apiVersion: Thing.apiVersion,
        kind: 'Thing',
        metadata: ref('a'),
        spec: { value: '1' },
      });
    },
  });
  const watched = () => stage.program.runtime.worlds.get('')?.staleness().size;
  try {
    assert.equal(await stage.client.find(ConfigMap, ref('a')), undefined);
    assert.deepEqual(batches, []);
    assert.ok(stage.program.runtime.isSynced, 'kinds of parts that are off are not waited for');
    await turn(stage, 'yes');
    assert.equal((await stage.client.get(ConfigMap, ref('a'))).data?.['value'], '1');
    assert.deepEqual(batches.splice(0), ['snapshot default/a=1']);
    await turn(stage, 'no');
    assert.deepEqual(batches.splice(0), ['withdrawal default/a=-', 'closed']);
    await stage.client.patch(Thing, ref('a'), 'merge', { spec: { value: '2' } });
    await stage.settle();
    assert.equal((await stage.client.get(ConfigMap, ref('a'))).data?.['value'], '1');
    assert.deepEqual(stage.program.runtime.worlds.get('')?.peek(Thing), [], 'what no part needs is not cached');
    await turn(stage, 'yes');
    assert.equal((await stage.client.get(ConfigMap, ref('a'))).data?.['value'], '2');
    assert.deepEqual(batches.splice(0), ['snapshot default/a=2']);
    assert.ok(watched() !== undefined);
  } finally {
    await stage.end();
  }
});
