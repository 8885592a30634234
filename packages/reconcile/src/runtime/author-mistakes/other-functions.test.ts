// Functions of authors that fail apart from an object of their own: of previews, sinks, parts that can be switched off, aliases,
// admission, webhooks, metrics, flags and instances. Each is contained, and reported where its caller looks.
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { describe, test } from 'node:test';
import {
  ConfigMap,
  conditions,
  createCa,
  defineKind,
  findCondition,
  type KindOf,
  type Logger,
  Namespace,
  object,
  optional,
  silentLogger,
  string,
  systemClock,
} from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock, objectOf } from '@capstan/testing';
import { admissionCheck, checkAdmission } from '../../admission-check.ts';
import { configured, evaluateFlags, runFlagsOf, UsageErrors } from '../../command-line/index.ts';
import { createManager } from '../../manager/manager.ts';
import { createRegistry, standardMetrics } from '../../metrics/index.ts';
import { type InstancesContext, type Operator, operator } from '../../operator.ts';
import { type EventInput, plan } from '../../plan/index.ts';
import { findInstances, preview } from '../../preview/index.ts';
import { derivation, index } from '../../read/index.ts';
import { reading, reconciler } from '../../reconciler.ts';
import { type Sink, type SinkDefinition, sink } from '../../sinks/index.ts';
import { startWebhookServer } from '../../webhook/index.ts';
import { runtimeObserver } from '../observers.ts';
import { onRuntime, ref, Thing, thing } from '../runtime.test-support.ts';

const valueByKey = () =>
  derivation<string>({
    name: 'value-by-key',
    compute: ({ key, read }) => read.get(Thing, ref(key.split('/')[1] ?? ''), ({ spec }) => spec.value) ?? '',
  });

const fails = (): never => {
  throw new Error('out of order');
};

function sinkWith(functions: Partial<SinkDefinition<string>>): Sink {
  return sink<string>({
    name: 'push',
    of: valueByKey(),
    keys: Thing,
    reads: [Thing],
    lease: 'none',
    open: () => ({ take() {} }),
    ...functions,
  });
}

const idle = reconciler<Thing>({ name: 'idle', resource: Thing, reconcile: () => plan() });
const withSink = (one: Sink): readonly Operator[] => [
  operator({ name: 'test', kinds: [Thing], reconcilers: [idle], sinks: [one] }),
];

describe('a function of a sink that throws is contained:', () => {
  for (const name of ['disturbs', 'effects'] as const)
    test(`${name}: the preview shows the delivery, and what it does as not known`, async () => {
      await onRuntime({ operators: withSink(sinkWith({ [name]: fails })) }, async ({ client, clock, runtime }) => {
        await client.create(Thing, thing('a', 'one'));
        await clock.advance(5000);
        const current = await client.get(Thing, ref('a'));
        const object = { ...current, spec: { value: 'two' } };
        const { deliveries } = await preview(runtime, [{ kind: Thing, ref: ref('a'), object }]);
        const disturbs = `not known: ${name} of the sink push threw: out of order`;
        assert.deepEqual(
          deliveries.map(({ key, change }) => ({ key, change })),
          [{ key: 'default/a', change: 'changed' }],
        );
        assert.match(deliveries[0]?.disturbs ?? '', new RegExp(`^${disturbs}`));
      });
    });

  test('version: the digest of the value stands for it, and the error is counted', async () => {
    const failed: string[] = [];
    let versions: readonly string[] = [];
    const one = sinkWith({
      version: fails,
      open: ({ current }) => ({
        take() {
          versions = [...current().values()].map(({ version }) => version);
        },
      }),
    });
    const observe = { failed: (what: string) => void failed.push(what) };
    await onRuntime({ operators: withSink(one), observe }, async ({ client, clock }) => {
      await client.create(Thing, thing('a', 'one'));
      await client.create(Thing, thing('b', 'two'));
      await clock.advance(5000);
      assert.equal(new Set(versions).size, 2, 'the versions of two values differ');
      assert.ok(failed.includes('version of the sink push'));
    });
  });
});

test('enabled that throws leaves its part as it was; the error is counted, and the part reports what it waits for', async () => {
  const failed: string[] = [];
  const delivered: string[] = [];
  const enabled = derivation<boolean>({
    name: 'is-on',
    compute({ read }) {
      if (read.get(Thing, ref('switch'), ({ spec }) => spec.value) === 'bad') fails();
      return true;
    },
  });
  const one = sinkWith({
    enabled,
    open: () => ({ take: ({ changes }) => void delivered.push(...changes.map(({ after }) => after ?? '-')) }),
  });
  const observe = { failed: (what: string) => void failed.push(what) };
  await onRuntime({ operators: withSink(one), observe }, async ({ client, clock }) => {
    await client.create(Thing, thing('switch', 'good'));
    await clock.advance(5000);
    await client.patch(Thing, ref('switch'), 'merge', { spec: { value: 'bad' } });
    await clock.advance(5000);
    await client.create(Thing, thing('a', 'delivered all the same'));
    await clock.advance(5000);
    assert.ok(delivered.includes('delivered all the same'));
    assert.ok(failed.includes('enabled of test.push'), failed.join());
  });
});

test('normalise that throws for one object is a condition on that object until it is corrected', async () => {
  const Odd = defineKind({
    group: 'test.capstan.dev',
    version: 'v1',
    kind: 'Odd',
    scope: 'Namespaced',
    spec: object({ value: string() }),
    status: object({ conditions: conditions(), seen: optional(string()) }),
    normalise(one) {
      if ((one['spec'] as { value?: string } | undefined)?.value === 'bad') fails();
      return one;
    },
  });
  type Odd = KindOf<typeof Odd>;
  const odds = reconciler<Odd>({
    name: 'odds',
    resource: Odd,
    reconcile: ({ object: { spec } }) => plan({ status: { seen: spec.value } }),
  });
  const failed: string[] = [];
  const operators = [operator({ name: 'test', kinds: [Odd, Thing], reconcilers: [odds, idle] })];
  const observe = { failed: (what: string) => void failed.push(what) };
  await onRuntime({ operators, observe }, async ({ client, clock }) => {
    const conditionOf = async (name: string) =>
      findCondition((await client.get(Odd, ref(name))).status?.conditions, 'ReconcileError')?.message;
    for (const [name, value] of [
      ['bad', 'bad'],
      ['good', 'good'],
    ] as const)
      await client.create(Odd, objectOf<Odd>(Odd, { metadata: ref(name), spec: { value } }));
    await clock.advance(10_000);
    assert.match((await conditionOf('bad')) ?? '', /normalise: out of order/);
    assert.equal(await conditionOf('good'), undefined);
    assert.ok(failed.includes('normalise of Odd'));
    // An object of another kind with the same key changes nothing.
    await client.create(Thing, thing('bad'));
    await clock.advance(10_000);
    assert.match((await conditionOf('bad')) ?? '', /normalise: out of order/);
    await client.patch(Odd, ref('bad'), 'merge', { spec: { value: 'fine' } });
    await clock.advance(10_000);
    assert.equal(await conditionOf('bad'), undefined, 'it heals');
  });
});

test('an error on an object of a foreign kind is an Event about it, once, and counts in the metric', async () => {
  const byOwner = index(ConfigMap, 'by-owner', ({ data }) => (data?.['owner'] === 'bad' ? fails() : ['owned']));
  const counting = reconciler<Thing>({
    name: 'counting',
    resource: Thing,
    reads: [reading(ConfigMap, 'everywhere')],
    reconcile: ({ read }) => plan({ status: { seen: String(read.by(byOwner, 'owned').length) } }),
  });
  const events: { object: string; event: EventInput }[] = [];
  const registry = createRegistry();
  const configMap = (name: string, owner: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: ref(name),
    data: { owner },
  });
  await onRuntime(
    {
      operators: [operator({ name: 'test', kinds: [Thing], reconcilers: [counting] })],
      observe: runtimeObserver(standardMetrics(registry)),
      notify: (_world, _operator, { kind, metadata }, event) =>
        void events.push({ object: `${kind} ${metadata.name}`, event }),
    },
    async ({ client, clock }) => {
      await client.create(Thing, thing('a'));
      await client.create(ConfigMap, configMap('good', 'x'));
      await client.create(ConfigMap, configMap('bad', 'bad'));
      await clock.advance(10_000);
      const seen = async () => (await client.get(Thing, ref('a'))).status?.seen;
      assert.equal(await seen(), '1', 'the other object is in the index');
      const about = events.filter(({ event }) => event.reason === 'FunctionFailed');
      assert.deepEqual(
        about.map(({ object: one, event: { type } }) => [one, type]),
        [['ConfigMap bad', 'Warning']],
      );
      assert.match(about[0]?.event.note ?? '', /the index by-owner on ConfigMap default\/bad threw: out of order/);
      const { body } = registry.expose();
      assert.match(body, /capstan_author_errors_total\{function="the index by-owner"\} 1/);
      await client.patch(ConfigMap, ref('bad'), 'merge', { data: { owner: 'corrected' } });
      await clock.advance(10_000);
      assert.equal(await seen(), '2', 'it heals');
    },
  );
});

describe('an admission check', () => {
  for (const [how, check, message] of [
    ['throws', fails, /the admission check of Thing\.test\.capstan\.dev threw: out of order/],
    ['returns a promise', () => Promise.resolve({ errors: [] }), /the admission check of .* returned a promise/],
    ['returns something else', () => ({ errors: 'no' }), /the admission check of .* returned something else/],
  ] as const)
    test(`an admission check that ${how} is an error that names it`, () => {
      const declared = admissionCheck({ kind: Thing, check: check as never });
      assert.throws(() => checkAdmission(declared, thing('a'), { list: () => [] }), message);
    });
});

test('a webhook whose review throws answers 500, and goes on', async (t) => {
  const now = Date.now();
  const ca = await createCa({
    commonName: 'test',
    notBefore: now - 60_000,
    notAfter: now + 600_000,
  });
  const server = await startWebhookServer({
    path: '/validate',
    review: ({ uid }) => (uid === 'bad' ? fails() : { uid: String(uid), allowed: true }),
    host: '127.0.0.1',
    port: 0,
    pair: { cert: ca.certificate, key: ca.key },
    logger: silentLogger,
  });
  t.after(() => server.close());
  const ask = (uid: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const { port } = server;
      const options = { host: '127.0.0.1', port, path: '/validate', method: 'POST', rejectUnauthorized: false };
      const call = request({ ...options, agent: false }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode));
      });
      call.once('error', reject);
      call.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', request: { uid } }));
    });
  assert.equal(await ask('bad'), 500);
  assert.equal(await ask('good'), 200);
});

test('metrics of an operator that throw are a log line; the operator and the others run', async (t) => {
  const named = (name: string, metrics: () => void) => ({ ...(withSink(sinkWith({}))[0] as Operator), name, metrics });
  let registered = 0;
  const operators = [named('bad', fails), named('good', () => void registered++)];
  const random = createRandom(1);
  const cluster = await createTestCluster({ clock: systemClock, random, operators: operators.slice(0, 1) });
  t.after(() => cluster.close());
  await cluster.client.create(Namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'capstan-system' },
  });
  const errors: unknown[] = [];
  const logger: Logger = { ...silentLogger, error: (_message, fields) => errors.push(fields), with: () => logger };
  const stopping = new AbortController();
  const onEvent = ({ type }: { type: string }) => void (type === 'ready' && stopping.abort());
  await createManager({ operators, logger, env: {}, connection: cluster.transport(), onEvent }).run(stopping.signal);
  assert.equal(registered, 1);
  const [{ operator: name, error } = { operator: '', error: undefined }] = errors as {
    operator: string;
    error: Error;
  }[];
  assert.equal(name, 'bad');
  assert.match(error?.message ?? '', /metrics of the operator bad threw: out of order/);
});

describe('a flag of an operator', () => {
  test('a flag of an operator whose parse throws or returns a promise is refused with the reason', () => {
    const refusal = (parse: (text: string) => unknown) => {
      let remedy = '';
      const flags = { level: { type: 'string', help: 'A level.', parse } } as const;
      const fail = (place: string, text: string, why: string): never => {
        remedy = `${place}=${text}: ${why}`;
        throw new Error(remedy);
      };
      assert.throws(() => evaluateFlags(flags, { level: ['7'] }, {}, fail));
      return remedy;
    };
    assert.match(refusal(fails), /^--level=7: its parse threw: out of order/);
    assert.match(
      refusal(() => Promise.reject(new Error('late'))),
      /its parse returned a promise/,
    );
  });

  test('a flag of an operator whose withFlags or runFlags throws is an error that names the operator; a refusal for the user passes', () => {
    const flags = { level: { type: 'string', help: 'A level.' } } as const;
    const make = (withFlags: () => Operator) =>
      operator({ name: 'test', kinds: [], reconcilers: [], flags, withFlags, program: { runFlags: fails } });
    assert.throws(() => configured(make(fails), {}, {}), /withFlags of the operator test threw: out of order/);
    assert.throws(
      () =>
        configured(
          make(() => 'none' as never),
          {},
          {},
        ),
      /withFlags of the operator test returned something else instead of an operator/,
    );
    const refused = UsageErrors.Missing('test', 'a level', 'test --level=7');
    const refuse = () => {
      throw refused;
    };
    assert.throws(
      () => configured(make(refuse), {}, {}),
      (error) => error === refused,
    );
    assert.throws(() => runFlagsOf(make(fails), {}), /runFlags of the operator test threw: out of order/);
  });
});

test('instances that throw, hang or return something else are notes of the preview; those of others are shown', async () => {
  const clock = createVirtualClock();
  const withInstances = (name: string, instances: NonNullable<Operator['instances']>) =>
    operator({ name, kinds: [], reconcilers: [], instances });
  let wasAborted = false;
  const shown = operator({ name: 'shown', kinds: [], reconcilers: [] });
  const operators = [
    withInstances('throws', fails),
    withInstances('hangs', ({ signal }) => {
      signal.addEventListener('abort', () => {
        wasAborted = true;
      });
      return new Promise(() => {});
    }),
    withInstances('odd', () => Promise.resolve({ operators: 'none' } as never)),
    withInstances('good', () => Promise.resolve({ operators: [shown], notes: ['assumed'] })),
  ];
  const { signal } = new AbortController();
  const context: InstancesContext = { client: {} as never, clock, signal, given: [] };
  const found = findInstances(operators, { ...context, timeoutMs: 10_000 });
  await clock.advance(10_000);
  const { operators: instances, notes } = await found;
  assert.deepEqual(instances, [shown]);
  assert.ok(wasAborted);
  assert.equal(notes.length, 4);
  for (const expected of [
    /beside the operator throws is not shown: .*out of order/,
    /beside the operator hangs is not shown: .*no answer within 10000 ms/,
    /beside the operator odd is not shown: .*returned something else/,
    /^assumed$/,
  ])
    assert.ok(
      notes.some((note) => expected.test(note)),
      `${expected}: ${notes.join('; ')}`,
    );
});
