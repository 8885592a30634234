import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, conditions, defineKind, type KubeObject, object, optional, Secret, string } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { operator } from '../../operator.ts';
import { apply, conditionType, type Plan, plan, released } from '../../plan/index.ts';
import { fact } from '../../read/index.ts';
import { reconciler } from '../../reconciler.ts';
import { type EvaluateOptions, type Evaluation, evaluate } from './evaluate.ts';

const Site = defineKind({
  group: 'test.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ host: optional(string()) }),
  status: object({ conditions: conditions() }),
  aliases: [{ group: 'old.dev', kind: 'Page' }],
});
const ready = conditionType<'Fine'>('Ready');
const certificate = fact<string>({ name: 'certificate', fetch: () => assert.fail('nothing is fetched') });

const site = reconciler<KubeObject & { spec: { host?: string } }>({
  name: 'site',
  resource: Site,
  reads: [Secret],
  writes: [ConfigMap],
  reconcile({ object: { metadata, spec }, read }) {
    const { namespace = '', name = '' } = metadata;
    if (spec.host === 'fact') read.fact(certificate, name);
    if (spec.host === 'secret') read.get(Secret, { namespace, name });
    if (spec.host === 'bug') throw new Error('a bug');
    if (spec.host === 'mutates') (spec as { host: string }).host = 'changed';
    return plan({
      children: [apply(ConfigMap, { metadata: { namespace, name }, data: { host: spec.host ?? '' } })],
      conditions: [ready.isTrue('Fine')],
    });
  },
  release: () => released(),
});

const siteNamed = (name: string, spec: object = {}, metadata: KubeObject['metadata'] = {}) =>
  ({
    apiVersion: 'test.dev/v1',
    kind: 'Site',
    metadata: { namespace: 'default', name, uid: name, generation: 1, ...metadata },
    spec,
  }) as KubeObject;
const evaluated = (objects: KubeObject[], options: Partial<EvaluateOptions> = {}) =>
  evaluate({
    operator: operator({ name: 'test', kinds: [Site], reconcilers: [site] }),
    clock: createVirtualClock(),
    objects,
    ...options,
  });
const planOf = (evaluation: Evaluation | undefined): Plan | string | undefined =>
  evaluation?.plan.state === 'value' ? evaluation.plan.value : evaluation?.plan.state;

describe('an evaluation', () => {
  test('gives for every object its plan, what is left to do for it, and what it read', () => {
    const all = evaluated([siteNamed('a', { host: 'secret' }), siteNamed('b')]);
    assert.deepEqual(
      all.map(({ key }) => key),
      ['default/a', 'default/b'],
    );
    const [first, second] = all;
    assert.equal(
      first?.reads.some((read) => read.startsWith('Secret')),
      true,
    );
    assert.equal(
      second?.reads.some((read) => read.startsWith('Secret')),
      false,
    );
    assert.equal(second?.writes.state === 'value' && second.writes.value.finalizer, 'add');
    assert.deepEqual(
      second?.writes.state === 'value' && second.writes.value.groups[0]?.writes.map(({ verb }) => verb),
      ['apply'],
    );
  });

  test('shows an error as one, and the others all the same', () => {
    const all = evaluated([siteNamed('a', { host: 'bug' }), siteNamed('b')]);
    assert.equal(planOf(all[0]), 'error');
    assert.match((all[0]?.writes.state === 'value' && all[0].writes.value.threw) || '', /threw: /);
    assert.notEqual(planOf(all[1]), 'error');
  });

  test('waits for facts that are not given, and fetches none', () => {
    const objects = [siteNamed('a', { host: 'fact' })];
    assert.equal(planOf(evaluated(objects)[0]), 'suspended');
    const facts = [{ fact: certificate, key: 'a', state: { value: 'x', error: undefined } }];
    assert.equal(typeof planOf(evaluated(objects, { facts })[0]), 'object');
  });

  test('waits for kinds that are not known, and plans no writes meanwhile', () => {
    const [only] = evaluated([siteNamed('a', { host: 'secret' })], { unknown: ['Secret'] });
    assert.equal(planOf(only), 'suspended');
    assert.equal(only?.writes.state, 'suspended');
  });

  test('finds a reconciler that changes its input in place', () => {
    const [only] = evaluated([siteNamed('a', { host: 'mutates' })]);
    assert.match(String(only?.plan.state === 'error' && only.plan.error), /read only|Cannot assign/);
  });

  test('sees objects under every name that they are written by, as one view', () => {
    const page = { ...siteNamed('p', { host: 'x' }), apiVersion: 'old.dev/v1', kind: 'Page' };
    const [only] = evaluated([page]);
    assert.equal(only?.key, 'default/p');
    const write = only.writes.state === 'value' ? only.writes.value.groups[0]?.writes[0] : undefined;
    const reference = write?.verb === 'apply' ? write.body.metadata.ownerReferences?.[0] : undefined;
    assert.deepEqual(
      [reference?.apiVersion, reference?.kind],
      ['old.dev/v1', 'Page'],
      'children belong to what was written',
    );
  });

  test('runs release for what is being deleted and held, and nothing for what is not held', () => {
    const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    const [held] = evaluated([siteNamed('a', {}, { ...metadata, finalizers: ['capstan.dev/site'] })]);
    assert.equal(typeof planOf(held) === 'object' && (planOf(held) as Plan).outcome, 'released');
    assert.equal(held?.writes.state === 'value' && held.writes.value.finalizer, 'remove');
    const [gone] = evaluated([siteNamed('a', {}, metadata)]);
    assert.deepEqual(gone?.writes.state === 'value' && gone.writes.value.groups, []);
  });

  test('leaves no timer behind', () => {
    const clock = createVirtualClock();
    const waits = reconciler({
      name: 'waits',
      resource: ConfigMap,
      reconcile: ({ read }) => plan({ held: read.reached(clock.now() + 1000) }),
    });
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } };
    evaluate({ operator: operator({ name: 'test', kinds: [], reconcilers: [waits] }), clock, objects: [owner] });
    assert.equal(clock.pendingTimers, 0);
  });
});

test('the digest on a Secret that is written is made with the key of the operator', () => {
  const copying = reconciler<ConfigMap>({
    name: 'copying',
    resource: ConfigMap,
    writes: [Secret],
    reconcile: ({ object: { metadata } }) =>
      plan({
        children: [apply(Secret, { metadata: { ...metadata, name: 'copy' }, data: { password: 'aHVudGVyMg==' } })],
      }),
  });
  const digests = [1, 2].map((fill) => {
    const [evaluation] = evaluate({
      operator: operator({ name: 'test', kinds: [], reconcilers: [copying] }),
      clock: createVirtualClock(),
      objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a', uid: 'u' } }],
      digestKey: { id: 'key', bytes: new Uint8Array(32).fill(fill) },
    });
    const writes = evaluation?.writes.state === 'value' ? evaluation.writes.value.groups[0]?.writes : undefined;
    const [write] = writes ?? [];
    return write?.verb === 'apply' ? write.body.metadata.annotations?.['capstan.dev/applied'] : undefined;
  });
  assert.match(digests[0] ?? '', /^v1\.[0-9a-f]{32}\.key\.[0-9a-f]{32}$/);
  assert.notEqual(digests[0], digests[1]);
});
