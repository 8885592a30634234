// A plan that is applied: the command ends with a comparison of the changes with the prediction.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ConfigMap, EndpointSlice, type KindOf, Lease, systemClock } from '@capstan/kube';
import { INVENTORY_LABEL, operator, plan, reconciler, writing } from '@capstan/reconcile';
import {
  createRandom,
  createTestCluster,
  recordingTransport,
  startIncarnation,
  type TestCluster,
} from '@capstan/testing';
import { runTest } from '../../cli/test-io.test-support.ts';
import type { PlanReport } from '../format-plan.ts';
import { manifest, Site, sites } from '../sites.test-support.ts';
import { compare, type Observations } from './follow.ts';
import { changesOf, type Observation, observe, statusText } from './observed.ts';

const modules = { '/home/user/sites.ts': { default: sites('') } };

let cluster: TestCluster;
before(async () => {
  cluster = await createTestCluster({ clock: systemClock, random: createRandom(1), operators: [sites('')] });
});
after(() => cluster.close());

/** Runs a command beside an operator. */
async function beside<T>(running: ReturnType<typeof sites> | undefined, run: () => Promise<T>): Promise<T> {
  const options = { transport: cluster.transport(), clock: systemClock, random: createRandom(2) };
  const program = running && startIncarnation({ operators: [running], ...options });
  try {
    return await run();
  } finally {
    await program?.stop();
  }
}

const applied = (text: string, transport: TestCluster['transport'], ...flags: string[]) =>
  runTest(['plan', '-f', 'change.yaml', '--operator', 'sites.ts', '--apply', ...flags], {
    transport,
    modules,
    files: { '/home/user/change.yaml': text },
  });

test('a plan that is applied ends as predicted, with code 0', () =>
  beside(sites(''), async () => {
    const created = await applied(manifest('a:1'), cluster.transport);
    assert.match(created.out, /2 created \(starts pods\).* Applying it …\nAs predicted\.\n$/);
    assert.equal(created.code, 0, created.err);
    const changed = await applied(manifest('a:2'), cluster.transport, '-o', 'json');
    const { outcome, writes } = JSON.parse(changed.out) as PlanReport;
    assert.deepEqual(outcome, { asPredicted: true, differences: [], notKnown: [] });
    assert.deepEqual(
      writes.map(({ verb, object: name, disturbs }) => [verb, name, disturbs]),
      [
        ['apply', 'Deployment default/home', 'rolls pods'],
        ['status', 'Site default/home', undefined],
      ],
    );
    assert.equal((await cluster.client.get(Site, { namespace: 'default', name: 'home' })).spec.image, 'a:2');
  }));

test('differences end it with code 3: what did not happen, and what was not predicted', async () => {
  await beside(sites(''), () => applied(manifest('a:1', 'other'), cluster.transport));
  const idle = await beside(undefined, () => applied(manifest('a:2', 'other'), cluster.transport, '--timeout', '2s'));
  assert.equal(idle.code, 3, idle.err);
  assert.match(
    idle.out,
    /Not as predicted:\n {2}! Deployment default\/other is in the plan, and nothing happened to it within 2 s\n {2}! the status of Site default\/other is in the plan, and did not change within 2 s\n$/,
  );
  // Another version of the operator runs than the one that planned.
  const otherwise = await beside(undefined, async () => {
    const command = applied(manifest('a:3', 'other'), cluster.transport, '--timeout', '6s');
    while ((await cluster.client.get(Site, { namespace: 'default', name: 'other' })).spec.image !== 'a:3')
      await systemClock.yield();
    return beside(sites('more'), () => command);
  });
  assert.equal(otherwise.code, 3, otherwise.err);
  assert.match(otherwise.out, /! ConfigMap default\/(home|other) was changed, and the plan does not show it\n/);
});

test('an object that another client changed since the plan was made is not written', async () => {
  const ref = { namespace: 'default', name: 'edited' };
  await cluster.client.apply(
    Site,
    { apiVersion: Site.apiVersion, kind: Site.kind, metadata: ref, spec: { image: 'a:1' } } as KindOf<typeof Site>,
    { fieldManager: 'kubectl', force: false },
  );
  const own = cluster.transport();
  const transport: typeof own = {
    ...own,
    request: async (request) => {
      const text = JSON.stringify(request);
      if (text.includes('PATCH') && text.includes('/sites/edited') && !text.includes('dryRun'))
        await cluster.client.patch(Site, ref, 'merge', { spec: { text: 'theirs' } });
      return own.request(request);
    },
  };
  const recorded = recordingTransport(transport);
  const { code, err } = await applied(manifest('a:2', 'edited'), () => recorded);
  assert.equal(code, 1);
  assert.match(err, /Site default\/edited was changed by another client since the plan was made; run this again/);
  assert.equal((await cluster.client.get(Site, ref)).spec.image, 'a:1');
});

const observed = (owner: string, content: string, writtenAt?: number) => ({
  owner,
  content,
  writtenAt,
  workload: undefined,
});
const observations = (before: Observation, after: Observation): Observations => ({
  objects: [before, after],
  statuses: [new Map(), new Map()],
});
const nothing = { writes: [], later: [], mayFollow: [], undecided: [], statuses: {} };

test('a gate that waits excuses what is behind it, and nothing else', () => {
  const predicted = { ...nothing, mayFollow: ['ConfigMap default/behind'] };
  const before = new Map([
    ['ConfigMap default/behind', observed('Site default/a', '1')],
    ['ConfigMap default/behind-too', observed('Site default/b', '1')],
  ]);
  const after = new Map([
    ['ConfigMap default/behind', observed('Site default/a', '2')],
    ['ConfigMap default/behind-too', observed('Site default/b', '2')],
  ]);
  assert.deepEqual(compare(predicted, [], observations(before, after), 1000), {
    asPredicted: false,
    differences: ['ConfigMap default/behind-too was changed, and the plan does not show it'],
    notKnown: ['ConfigMap default/behind was changed, and the plan does not show it'],
  });
});

test('an owner that waits for a fact excuses its own children, and those of no other', () => {
  const predicted = { ...nothing, undecided: ['Site default/a'] };
  const after = new Map([
    ['ConfigMap default/one', observed('Site default/a', '1')],
    ['ConfigMap default/two', observed('Site default/b', '1')],
  ]);
  const { differences, notKnown } = compare(predicted, [], observations(new Map(), after), 1000);
  assert.deepEqual(differences, ['ConfigMap default/two was created, and the plan does not show it']);
  assert.deepEqual(notKnown, ['ConfigMap default/one was created, and the plan does not show it']);
});

const write = (level: number, what: string, more: object = {}) => ({
  level,
  by: 'sites.site',
  for: 'Site default/a',
  verb: 'apply' as const,
  object: what,
  paths: [],
  changes: [],
  ...more,
});

test('writes that came in another order than planned are differences', () => {
  const [first, second] = ['ConfigMap default/first', 'ConfigMap default/second'];
  const predicted = { ...nothing, writes: [write(1, first), write(2, second)] };
  const after = (one: number, two: number): Observation =>
    new Map([
      [first, observed('Site default/a', '1', one)],
      [second, observed('Site default/a', '1', two)],
    ]);
  const outcome = (one: number, two: number) =>
    compare(predicted, [], observations(new Map(), after(one, two)), 1000).differences;
  assert.deepEqual(outcome(1000, 1000), []);
  assert.deepEqual(outcome(1000, 2000), []);
  assert.deepEqual(outcome(2000, 1000), [`${second} was written before ${first}, and the plan shows it after that`]);
});

test('a condition with another value than in each phase of the plan is a difference', () => {
  const condition = (status: string, reason: string) => ({ conditions: [{ type: 'Ready', status, reason }] });
  const name = 'Site default/a';
  const statuses = { [name]: [condition('False', 'Waiting'), condition('True', 'Made')] };
  const outcome = (real: object) => {
    const after = new Map([[name, { content: JSON.stringify(real), isOurs: true }]]);
    const seen: Observations = { objects: [new Map(), new Map()], statuses: [new Map(), after] };
    const writes = [write(1, name, { verb: 'status' })];
    return compare({ ...nothing, writes, statuses }, [], seen, 1000).differences;
  };
  assert.deepEqual(outcome(condition('False', 'Waiting')), []);
  assert.deepEqual(outcome(condition('True', 'Made')), []);
  assert.deepEqual(outcome(condition('False', 'Broken')), [
    'the status of Site default/a: Ready is False (Broken), and the plan shows False (Waiting) or True (Made)',
  ]);
});

test('a status that ends as it began may be read as if nothing had happened to it', () => {
  const ready = { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }] };
  const rolling = { conditions: [{ type: 'Ready', status: 'False', reason: 'Rolling', message: '1 of 2' }] };
  const name = 'Site default/a';
  const began = new Map([[name, { content: statusText(ready), isOurs: true }]]);
  const outcome = (statuses: readonly object[]) => {
    const seen: Observations = { objects: [new Map(), new Map()], statuses: [began, began] };
    const writes = [write(1, name, { verb: 'status' })];
    const later = [{ ...write(2, name, { verb: 'status' }), until: 'pods are ready' }];
    return compare({ ...nothing, writes, later, statuses: { [name]: statuses } }, [], seen, 1000).differences;
  };
  assert.deepEqual(outcome([rolling, ready]), []);
  assert.deepEqual(outcome([rolling, rolling]), [
    'the status of Site default/a is in the plan, and did not change within 1 s',
  ]);
});

test('labels of ours on an object of others, renewed Leases and times in a status are no changes', async () => {
  const { client } = cluster;
  const ref = { namespace: 'default', name: 'counted' };
  const labels = { [INVENTORY_LABEL]: 'of-an-owner' };
  const options = { fieldManager: 'capstan.test', force: true };
  const lease = (renewTime: string) => ({
    apiVersion: Lease.apiVersion,
    kind: Lease.kind,
    metadata: { ...ref, labels },
    spec: { holderIdentity: 'a', renewTime },
  });
  const kinds = operator({
    name: 'kinds',
    kinds: [],
    reconcilers: [
      reconciler<ConfigMap>({
        name: 'kinds',
        resource: ConfigMap,
        writes: [writing(EndpointSlice, 'apply'), writing(Lease, 'apply')],
        reconcile: () => plan({}),
      }),
    ],
  });
  const { signal } = new AbortController();
  await client.apply(Lease, lease('2026-01-01T00:00:00.000000Z'), options);
  const before = await observe(client, [kinds], new Set(), signal);
  await client.apply(Lease, lease('2026-01-01T00:00:10.000000Z'), options);
  const slice = { apiVersion: EndpointSlice.apiVersion, kind: EndpointSlice.kind, metadata: { ...ref, labels } };
  await client.create(EndpointSlice, { ...slice, addressType: 'IPv4', endpoints: [] }, { fieldManager: 'controller' });
  const after = await observe(client, [kinds], new Set(), signal);
  assert.deepEqual([...after.keys()], ['Lease default/counted']);
  assert.deepEqual([...changesOf(before, after)], []);
  await client.delete(Lease, ref);
  assert.deepEqual(
    [...changesOf(before, await observe(client, [kinds], new Set(), signal))],
    [['Lease default/counted', 'deleted']],
  );
  const at = (time: string) => statusText({ lastSync: time, message: `expires ${time}`, count: 1 });
  assert.equal(at('2026-01-01T00:00:00Z'), at('2026-01-02T10:00:00.5Z'));
});

test('statuses that changed unforeseen, or did not change as planned, are differences', () => {
  const status = (content: string, isOurs = true) => ({ content, isOurs });
  const [owner, other, theirs, passing] = ['Site default/a', 'Site default/b', 'Site default/c', 'Site default/d'];
  const statuses = [write(1, owner, { verb: 'status' }), write(1, passing, { verb: 'status', passing: true })];
  const before = new Map([owner, other, theirs, passing].map((name) => [name, status('1')]));
  const after = new Map([
    [owner, status('1')],
    [other, status('2')],
    [theirs, status('2', false)],
    [passing, status('1')],
  ]);
  const seen: Observations = { objects: [new Map(), new Map()], statuses: [before, after] };
  assert.deepEqual(compare({ ...nothing, writes: statuses }, [], seen, 1000).differences, [
    'the status of Site default/b changed, and the plan does not show it',
    'the status of Site default/a is in the plan, and did not change within 1 s',
  ]);
});
