import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  conditions,
  defineKind,
  type KindOf,
  object,
  optional,
  Secret,
  ServiceAccount,
  string,
} from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { operator } from '../../operator.ts';
import { type Minter, mint, patch, plan, released, remove, share } from '../../plan/index.ts';
import { reconciler, writing } from '../../reconciler.ts';

const Loan = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Loan',
  scope: 'Namespaced',
  spec: object({
    target: optional(string()),
    weight: optional(string()),
    shared: optional(string()),
    minted: optional(string()),
    validUntil: optional(string()),
    removes: optional(string()),
    gate: optional(string()),
  }),
  status: object({ conditions: conditions(), ended: optional(string()) }),
});
type Loan = KindOf<typeof Loan>;

const certificate: Minter<{ until: string }, Secret> = {
  name: 'certificate',
  valid: (existing, { until }, { reached }) =>
    existing.data?.['until'] === Buffer.from(until).toString('base64') &&
    !reached(existing.metadata.annotations?.['renew-at'] ?? 0),
  make: ({ until }, existing) =>
    Promise.resolve({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { annotations: { 'renew-at': until } },
      data: {
        until: Buffer.from(until).toString('base64'),
        serial: Buffer.from(
          `${Number(Buffer.from(existing?.data?.['serial'] ?? '', 'base64').toString() || 0) + 1}`,
        ).toString('base64'),
      },
    }),
};

/** Another program of the operator, and the label of the objects that it created. */
const LENDER = 'lender';
const LENT = { label: 'lent', managers: [LENDER] };

const loan = reconciler<Loan>({
  name: 'loan',
  resource: Loan,
  writes: [
    writing(ConfigMap, ['patch', 'remove'], { createdBy: LENT }),
    writing(ServiceAccount, 'share'),
    writing(Secret, 'mint'),
  ],
  reconcile({ object: owner, read }) {
    const { namespace = '' } = owner.metadata;
    const { target, weight, shared, minted, validUntil = '', removes, gate } = owner.spec;
    const doomed = removes === undefined ? undefined : read.get(ConfigMap, { namespace, name: removes });
    return plan({
      groups: [
        { name: 'gate', open: gate !== 'closed', waitingFor: 'the gate' },
        {
          patches:
            target === undefined
              ? []
              : [patch(ConfigMap, { namespace, name: target }, [{ path: '/data/weight', value: weight }])],
          children: [
            ...(shared === undefined
              ? []
              : [share(ServiceAccount, { metadata: { name: shared, namespace, labels: { lent: 'yes' } } })]),
            ...(minted?.split(' ') ?? []).map((name) =>
              mint(Secret, { namespace, name }, certificate, { until: validUntil }),
            ),
          ],
          removals: doomed === undefined ? [] : [remove(ConfigMap, doomed, { provenance: LENT })],
        },
      ],
    });
  },
  release: () => released(),
});

const operators = [operator({ name: 'test', kinds: [Loan], reconcilers: [loan] })];
const ref = (name: string) => ({ namespace: 'default', name });
const configMap = (name: string, data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: ref(name),
  data,
});

async function staged(
  spec: Loan['spec'],
  check: (stage: Stage & { edit(spec: object): Promise<void> }) => Promise<void>,
  ruled?: string,
): Promise<void> {
  const stage = await createStage({
    operators,
    ...(ruled && { ruled }),
    given: async (client) => {
      await client.create(ConfigMap, configMap('route', { weight: '100', other: 'x' }));
      await client.create(Loan, { apiVersion: Loan.apiVersion, kind: 'Loan', metadata: ref('l'), spec });
    },
  });
  const edit = async (change: object) => {
    await stage.client.patch(Loan, ref('l'), 'merge', { spec: change });
    await stage.settle();
  };
  try {
    await check(Object.assign(Object.create(stage) as Stage, { edit }));
  } finally {
    await stage.end();
  }
}

describe('a patch to an object of another client', () => {
  test('sets its field, and gives the original back when it is no longer planned', () =>
    staged({ target: 'route', weight: '0' }, async ({ client, edit }) => {
      assert.equal((await client.get(ConfigMap, ref('route'))).data?.['weight'], '0');
      await edit({ weight: '5' });
      assert.equal((await client.get(ConfigMap, ref('route'))).data?.['weight'], '5');
      await edit({ target: null });
      const back = await client.get(ConfigMap, ref('route'));
      assert.deepEqual(back.data, { weight: '100', other: 'x' });
      assert.deepEqual(back.metadata.annotations ?? {}, {});
    }));

  test('is given back when its owner is deleted, also if no operator ran at that moment', () =>
    staged({ target: 'route', weight: '0' }, async ({ client, restart, settle }) => {
      await client.delete(Loan, ref('l'));
      await restart();
      await settle();
      assert.equal((await client.get(ConfigMap, ref('route'))).data?.['weight'], '100');
      assert.equal(await client.find(Loan, ref('l')), undefined);
    }));

  test('does not undo what a user set meanwhile', () =>
    staged({ target: 'route', weight: '0' }, async ({ client, edit, settle }) => {
      await edit({ gate: 'closed' });
      await client.patch(ConfigMap, ref('route'), 'merge', { data: { weight: '42' } });
      await settle();
      await edit({ target: null, gate: null });
      assert.equal((await client.get(ConfigMap, ref('route'))).data?.['weight'], '42');
    }));

  test('waits for an object that is not there, and never creates it', () =>
    staged({ target: 'later', weight: '0' }, async ({ client, settle, transport }) => {
      assert.equal(await client.find(ConfigMap, ref('later')), undefined);
      transport.clear();
      await client.create(ConfigMap, configMap('later', { weight: '7' }));
      await settle();
      assert.equal((await client.get(ConfigMap, ref('later'))).data?.['weight'], '0');
      assert.equal(transport.writes.length, 1);
    }));
});

describe('a shared object', () => {
  test('gets our fields, loses them when no longer planned, and is never deleted', () =>
    staged({}, async ({ client, edit }) => {
      await client.create(ServiceAccount, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { ...ref('sa'), labels: { theirs: 'yes' } },
      });
      await edit({ shared: 'sa' });
      assert.deepEqual((await client.get(ServiceAccount, ref('sa'))).metadata.labels, { theirs: 'yes', lent: 'yes' });
      await edit({ shared: null });
      const left = await client.get(ServiceAccount, ref('sa'));
      assert.deepEqual(left.metadata.labels, { theirs: 'yes' });
      assert.deepEqual(left.metadata.annotations ?? {}, {});
    }));

  test('may be shared by several owners of one reconciler, who do not quarrel over whose cause it shows', () =>
    staged({}, async ({ client, clock, edit, settle, transport }) => {
      await client.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: ref('sa') });
      await edit({ shared: 'sa' });
      await clock.advance(1000);
      const other = { apiVersion: Loan.apiVersion, kind: 'Loan', metadata: ref('m'), spec: { shared: 'sa' } };
      await client.create(Loan, other);
      await settle();
      for (const name of ['l', 'm']) {
        const { status } = await client.get(Loan, ref(name));
        assert.equal(status?.conditions?.find(({ type }) => type === 'ReconcileError')?.message, undefined, name);
      }
      transport.clear();
      await settle(60_000);
      assert.deepEqual(transport.writes, []);
      await edit({ shared: null });
      assert.deepEqual((await client.get(ServiceAccount, ref('sa'))).metadata.labels, { lent: 'yes' });
    }));
});

describe('a minted child', () => {
  test('is made once, kept over restarts, and recreated when it is due', () =>
    staged({}, async (stage) => {
      const hours = (count: number) => new Date(stage.clock.now() + count * 3600_000).toISOString();
      await stage.edit({ minted: 'tls', validUntil: hours(1) });
      const serial = async () =>
        Buffer.from((await stage.client.get(Secret, ref('tls'))).data?.['serial'] ?? '', 'base64').toString();
      assert.equal(await serial(), '1');
      await stage.restart();
      assert.deepEqual(stage.transport.writes, []);
      await stage.edit({ validUntil: hours(2) });
      assert.equal(await serial(), '2');
      stage.transport.clear();
      await stage.clock.advance((3 * 3600_000) / 2);
      assert.deepEqual(stage.transport.writes, []);
      assert.equal(await serial(), '2');
    }));

  test('a minted child that is due again as soon as it is created is reported, and not created over and over', () =>
    staged({}, async ({ client, clock, edit, transport }) => {
      transport.clear();
      await edit({ minted: 'stale', validUntil: new Date(clock.now() - 1000).toISOString() });
      const { status } = await client.get(Loan, ref('l'));
      const reported = status?.conditions?.find(({ type }) => type === 'ReconcileError');
      assert.match(
        reported?.message ?? '',
        /Secret default\/stale was created by certificate, and is already due to be recreated; check/,
      );
      const created = transport.writes.filter((line) => line.includes('/secrets'));
      // A minute of attempts, each with one more than the attempt before it found, at growing distances.
      assert.ok(created.length > 0 && created.length < 30, `${created.length} times`);
    }));

  test('a minted child that is due again at once is not made over and over because another one is made beside it', () =>
    staged({}, async ({ clock, edit, transport }) => {
      const past = new Date(clock.now() - 1000).toISOString();
      transport.clear();
      await edit({ minted: 'stale', validUntil: past });
      const alone = transport.writes.filter((line) => line.includes('/secrets')).length;
      await edit({ minted: null, validUntil: null });
      transport.clear();
      await edit({ minted: 'left right', validUntil: past });
      const both = transport.writes.filter((line) => line.includes('/secrets')).length;
      assert.ok(both <= 2 * alone, `${both} times, and one alone ${alone} times`);
    }));

  test('a minted child that a user brought along is never replaced', () =>
    staged({}, async ({ client, clock, edit }) => {
      await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: ref('own'), data: { until: 'bm8=' } });
      await edit({ minted: 'own', validUntil: new Date(clock.now() + 3600_000).toISOString() });
      assert.deepEqual((await client.get(Secret, ref('own'))).data, { until: 'bm8=' });
      const { status } = await client.get(Loan, ref('l'));
      assert.equal(status?.conditions?.find(({ type }) => type === 'ReconcileError')?.reason, 'Conflict');
    }));
});

describe('a removal', () => {
  test('leaves an object that the operator did not create, and reports it', () =>
    staged({}, async ({ client, edit }) => {
      const { metadata } = await client.create(ConfigMap, configMap('doomed', {}));
      await edit({ removes: 'doomed' });
      assert.equal((await client.get(ConfigMap, ref('doomed'))).metadata.uid, metadata.uid);
      const { status } = await client.get(Loan, ref('l'));
      const problem = status?.conditions?.find(({ type }) => type === 'ReconcileError');
      assert.match(problem?.message ?? '', /ConfigMap default\/doomed was not created by this operator/);
    }));

  test('removes an object that another program of the operator created, and leaves a copy of it', () =>
    staged(
      {},
      async ({ client, edit }) => {
        const marked = (name: string) => ({
          ...configMap(name, {}),
          metadata: { ...ref(name), labels: { lent: 'yes' } },
        });
        await client.create(ConfigMap, marked('doomed'), { fieldManager: LENDER });
        await client.create(ConfigMap, marked('copy'), { fieldManager: 'kubectl' });
        await edit({ removes: 'doomed' });
        assert.equal(await client.find(ConfigMap, ref('doomed')), undefined);
        await edit({ removes: 'copy' });
        assert.ok(await client.find(ConfigMap, ref('copy')));
      },
      'another program of the operator created it',
    ));
});

describe('a closed gate', () => {
  test('holds back its group and all after it', () =>
    staged({ gate: 'closed', target: 'route', weight: '0' }, async ({ client, edit }) => {
      assert.equal((await client.get(ConfigMap, ref('route'))).data?.['weight'], '100');
      await edit({ gate: null });
      assert.equal((await client.get(ConfigMap, ref('route'))).data?.['weight'], '0');
    }));
});
