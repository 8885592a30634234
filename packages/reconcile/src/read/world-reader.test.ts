import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, Deployment, type KubeObject, Namespace, Secret, Service } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import { type DigestKey, sameDigest } from '../digest.ts';
import { createEngine } from '../engine/index.ts';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { type Context, type Reconciler, reading, reconciler } from '../reconciler.ts';
import { type EvaluateOptions, evaluate } from '../runtime/writer/evaluate.ts';
import { createSinkRegistry } from '../sinks/index.ts';
import { createInstants, createKnownFacts, createKnownSources } from '../sources/index.ts';
import { createStaticWorld, createWorldSet, requirementsOf } from '../worlds/index.ts';
import { derivation } from './derivation.ts';
import { fact } from './fact.ts';
import { index } from './kind-index.ts';
import type { Reader } from './reader.ts';
import { digestOf, type ReadSources, type Run, WorldReader } from './world-reader.ts';

const at = (name: string, namespace = 'default') => ({ namespace, name });
const base64 = (text: string) => Buffer.from(text).toString('base64');
const owner: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...at('owner'), uid: 'u' } };
const service = (name: string, labels: Record<string, string> = {}, namespace?: string): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { ...at(name, namespace), labels },
  spec: { clusterIP: `ip of ${name}` },
});
const secret = (password: string): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: at('s'),
  data: { password: base64(password), user: base64('admin') },
});

const READS: Reconciler['reads'] = [
  reading(Service, 'everywhere'),
  reading(Secret, 'referenced'),
  reading(Namespace, 'everywhere'),
];

/** Returns the value that a reconciler reads in this way, or the end of its run. */
function seen(check: (context: Context) => unknown, options: Partial<EvaluateOptions> = {}): unknown {
  let found: unknown;
  const reads = reconciler({
    name: 'reads',
    resource: ConfigMap,
    reads: READS,
    reconcile(context) {
      found = check(context);
      return plan();
    },
  });
  const [evaluation] = evaluate({
    operator: operator({ name: 'test', kinds: [], reconcilers: [reads] }),
    clock: createVirtualClock(),
    ...options,
    objects: [owner, ...(options.objects ?? [])],
  });
  if (evaluation?.plan.state === 'error') throw evaluation.plan.error;
  return evaluation?.plan.state === 'suspended' ? evaluation.plan : found;
}

const nameOf = ({ metadata }: KubeObject) => metadata.name;

describe('a read', () => {
  const objects = [service('b'), service('a', { app: 'x' }), service('c', { app: 'x' }, 'other')];

  test('a read of one object gives it, through a projection if there is one', () => {
    assert.deepEqual(
      seen(({ read }) => read.get(Service, at('a')), { objects }),
      objects[1],
    );
    assert.equal(
      seen(({ read }) => read.get(Service, at('a'), nameOf), { objects }),
      'a',
    );
  });

  test('a read of an absent object returns that: absent is an answer', () => {
    assert.equal(
      seen(({ read }) => read.get(Service, at('z')) ?? 'absent', { objects }),
      'absent',
    );
  });

  test('a read of an unknown value suspends the run, and names the value', () => {
    const waiting = seen(({ read }) => read.get(Service, at('a')), { unknown: ['Service'] });
    assert.deepEqual(waiting, { state: 'suspended', waitingFor: ['Service/default/a'] });
  });

  test('a read of many gives those selected, sorted', () => {
    const names = (where?: Parameters<Reader['list']>[1]) =>
      seen(({ read }) => read.list(Service, where ?? {}, nameOf), { objects });
    assert.deepEqual(names(), ['a', 'b', 'c']);
    assert.deepEqual(names({ namespace: 'other' }), ['c']);
    assert.deepEqual(names({ labels: 'app=x' }), ['a', 'c']);
    assert.deepEqual(names({ labels: { matchLabels: { app: 'x' } }, namespace: 'default' }), ['a']);
    assert.deepEqual(names({ where: isB }), ['b']);
    assert.deepEqual(
      seen(({ read }) => read.list(Service).map(nameOf), { objects }),
      ['a', 'b', 'c'],
    );
  });

  test('a read by content gives those that mention the key', () => {
    const byApp = index(Service, 'app', ({ metadata }) => (metadata.labels?.['app'] ? [metadata.labels['app']] : []));
    assert.deepEqual(
      seen(({ read }) => read.by(byApp, 'x', nameOf), { objects }),
      ['a', 'c'],
    );
    assert.deepEqual(
      seen(({ read }) => read.by(byApp, 'y'), { objects }),
      [],
    );
  });

  test('through an index, a fact or a derivation that every run creates again is refused', () => {
    const checks: Record<string, (read: Reader) => unknown> = {
      'index app of Service': (read) =>
        read.by(
          index(Service, 'app', () => []),
          'x',
        ),
      'fact weather': (read) => read.fact(fact({ name: 'weather', fetch: () => Promise.resolve('sunny') }), 'here'),
      'derivation sum': (read) => read.derived(derivation({ name: 'sum', compute: () => 1 }), 'x'),
    };
    for (const [what, check] of Object.entries(checks)) {
      const careless = reconciler({
        name: 'careless',
        resource: ConfigMap,
        reads: READS,
        reconcile({ read }) {
          check(read);
          return plan();
        },
      });
      const evaluations = evaluate({
        operator: operator({ name: 'test', kinds: [], reconcilers: [careless] }),
        clock: createVirtualClock(),
        objects: [owner, { ...owner, metadata: { ...at('another'), uid: 'v' } }],
      });
      const errors = evaluations.flatMap((one) => (one.plan.state === 'error' ? one.plan.error.message : []));
      assert.ok(errors.length > 0, `refused: ${what}`);
      assert.match(errors[0] ?? '', new RegExp(`test.careless reads through two definitions of the ${what}.*create`));
    }
  });

  test('a read of a kind that is not declared is refused, before it is answered', () => {
    const message = /test\.reads reads Deployment\.apps, which it does not declare.*add it/;
    assert.throws(() => seen(({ read }) => read.get(Deployment, at('a'))), message);
    assert.throws(() => seen(({ read }) => read.list(Deployment)), message);
    assert.throws(
      () =>
        seen(({ read }) =>
          read.by(
            index(Deployment, 'x', () => []),
            'x',
          ),
        ),
      message,
    );
    assert.throws(() => seen(({ read }) => read.access(Deployment)), message);
  });

  test('a read of a kind that only another reconciler declares is refused too', () => {
    const one = reconciler({ name: 'one', resource: ConfigMap, reads: [Service], reconcile: () => plan() });
    for (const check of [
      (read: Reader) => read.list(Service),
      (read: Reader) =>
        read.by(
          index(Service, 'x', () => []),
          'x',
        ),
    ]) {
      const two = reconciler({
        name: 'two',
        resource: ConfigMap,
        reconcile({ read }) {
          check(read);
          return plan();
        },
      });
      const [, second] = evaluate({
        operator: operator({ name: 'test', kinds: [], reconcilers: [one, two] }),
        clock: createVirtualClock(),
        objects: [owner],
      });
      assert.equal(second?.plan.state, 'error');
    }
  });

  test('a read without the namespace that a kind needs is refused: it cannot be known to be absent', () => {
    assert.throws(() => seen(({ read }) => read.get(Service, { name: 'a' })), /Service a without a namespace/);
    assert.equal(
      seen(({ read }) => read.get(Namespace, { name: 'n' }) ?? 'absent'),
      'absent',
    );
  });

  test('a read of a cluster-scoped object takes no notice of a namespace', () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } };
    assert.equal(
      seen(({ read }) => read.get(Namespace, at('n'), nameOf), { objects: [namespace] }),
      'n',
    );
  });

  test('a read of a fact gives its known state, or suspends', () => {
    const weather = fact({ name: 'weather', fetch: () => assert.fail('nothing is fetched here') });
    const state = { value: 'sunny', error: undefined };
    assert.deepEqual(
      seen(({ read }) => read.fact(weather, 'here'), { facts: [{ fact: weather, key: 'here', state }] }),
      state,
    );
    assert.deepEqual(
      seen(({ read }) => read.fact(weather, 'there')),
      { state: 'suspended', waitingFor: ['fact weather/there'] },
    );
  });

  test('a read of a derivation gives its value, computed with reads of its own', () => {
    const count = derivation({
      name: 'count',
      compute: ({ key, read }) => ({ many: read.list(Service, { namespace: key }).length }),
    });
    assert.deepEqual(
      seen(({ read }) => read.derived(count, 'default'), { objects }),
      { many: 2 },
    );
    assert.equal(
      seen(({ read }) => read.derived(count, 'default', ({ many }) => many), { objects }),
      2,
    );
  });

  test('a read of the time is false before an instant and true from then on', () => {
    const clock = createVirtualClock({ start: 1000 });
    assert.deepEqual(
      seen(({ read }) => [read.reached(999), read.reached(1000), read.reached(1001)], { clock }),
      [true, true, false],
    );
  });

  test('a read of a kind that the server does not show returns that, and nothing else', () => {
    assert.equal(
      seen(({ read }) => read.access(Service)),
      'served',
    );
    for (const access of ['forbidden', 'not-served'] as const) {
      assert.equal(
        seen(({ read }) => read.access(Service), { access: { Service: access } }),
        access,
      );
      const waiting = seen(({ read }) => read.list(Service), { access: { Service: access } });
      assert.equal((waiting as { state: string }).state, 'suspended');
    }
  });
});

const isB = ({ metadata }: KubeObject) => metadata.name === 'b';

describe('another world', () => {
  const worlds = { broker: { objects: [service('far')] }, dark: { objects: [], unknown: ['Service'] } };

  test('is read like the own one, by its name', () => {
    assert.deepEqual(
      seen(({ read }) => read.in('broker')?.list(Service, {}, nameOf), { worlds }),
      ['far'],
    );
    assert.deepEqual(
      seen(({ read }) => read.list(Service, {}, nameOf), { worlds, objects: [service('near')] }),
      ['near'],
    );
  });

  test('another world that does not exist is undefined, and all existing ones are listed', () => {
    assert.equal(
      seen(({ read }) => read.in('nowhere') ?? 'none', { worlds }),
      'none',
    );
    assert.deepEqual(
      seen(({ read }) => read.worlds(), { worlds }),
      ['', 'broker', 'dark'],
    );
  });

  test('another world that is not known yet suspends', () => {
    const waiting = seen(({ read }) => read.in('dark')?.get(Service, at('a')), { worlds });
    assert.deepEqual(waiting, { state: 'suspended', waitingFor: ['dark/Service/default/a'] });
  });

  test('has derivations of its own', () => {
    const names = derivation({ name: 'names', compute: ({ read }) => read.list(Service, {}, nameOf) });
    const both = seen(({ read }) => [read.derived(names, ''), read.in('broker')?.derived(names, '')], { worlds });
    assert.deepEqual(both, [[], ['far']]);
  });

  test('may be read for declared kinds alone', () => {
    assert.throws(() => seen(({ read }) => read.in('broker')?.list(Deployment), { worlds }), /does not declare/);
  });
});

describe('a digest is keyed when it covers', () => {
  const passwordOf = (object: Secret) => object.data?.['password'];
  const decodedOf = (object: Secret) => ({ value: Buffer.from(object.data?.['password'] ?? '', 'base64').toString() });
  const bySelf = index(Secret, 'self', () => ['all']);
  const whole = derivation({ name: 'whole', compute: ({ read }) => read.get(Secret, at('s')) });
  const part = derivation({
    name: 'part',
    compute: ({ read }) => ({ line: `password=${read.get(Secret, at('s'), decodedOf)?.value}` }),
  });
  const lineOf = ({ line }: { line: string }) => line;
  const further = derivation({ name: 'further', compute: ({ read }) => read.derived(part, '', lineOf) });

  const cases: [what: string, value: (read: Reader) => unknown][] = [
    ['a Secret', (read) => read.get(Secret, at('s'))],
    ['a part of one', (read) => read.get(Secret, at('s'), passwordOf)],
    [
      'what was decoded from one',
      (read) => Buffer.from(read.get(Secret, at('s'), passwordOf) ?? '', 'base64').toString(),
    ],
    ['its bytes', (read) => Buffer.from(read.get(Secret, at('s'), passwordOf) ?? '', 'base64')],
    ['a text with one in it', (read) => `--password=${read.get(Secret, at('s'), decodedOf)?.value}`],
    ['one out of a list', (read) => read.list(Secret, {}, passwordOf)],
    ['one found by content', (read) => read.by(bySelf, 'all', passwordOf)],
    ['the value of a derivation that read one', (read) => read.derived(whole, '')],
    ['a projection of such a value', (read) => read.derived(part, '', lineOf)],
    ['the value of a derivation of derivations', (read) => read.derived(further, '')],
    ['one from another world', (read) => read.in('far')?.get(Secret, at('s'), passwordOf)],
  ];
  const withSecret = (password: string) => ({
    objects: [secret(password)],
    worlds: { far: { objects: [secret(password)] } },
  });
  for (const [what, value] of cases) {
    test(what, () => {
      const digestFor = (password: string) =>
        seen(({ read, digest }) => digest('x', value(read)), withSecret(password)) as string;
      const before = digestFor('hunter2');
      assert.match(before, /^v1\.[0-9a-f]{32}\.test_n\.[0-9a-f]{32}$/);
      assert.equal(digestFor('hunter2'), before);
      const after = digestFor('hunter3');
      assert.notEqual(after, before);
      assert.equal(after.split('.')[1], before.split('.')[1], 'the plain part says nothing about the secret');
    });
  }

  test('nothing secret: then it is not', () => {
    const objects = [secret('hunter2'), service('a')];
    const plain = /^v1\.[0-9a-f]{32}$/;
    assert.match(seen(({ read, digest }) => digest(read.get(Service, at('a'))), { objects }) as string, plain);
    assert.match(
      seen(
        ({ read, digest }) => {
          read.get(Secret, at('s'));
          return digest(read.get(Service, at('a')));
        },
        { objects },
      ) as string,
      plain,
    );
    const exists = derivation({
      name: 'exists',
      compute: ({ read }) => ({ exists: read.get(Secret, at('s')) !== undefined }),
    });
    assert.match(seen(({ read, digest }) => digest(read.derived(exists, '')), { objects }) as string, plain);
  });

  test('a secret, by its namespace too: equal secrets of two namespaces have unequal digests, and none under another key is said to differ', () => {
    const owners = ['one', 'two'].map((namespace) => ({
      ...owner,
      metadata: { ...at('owner', namespace), uid: namespace },
    }));
    const secrets = ['one', 'two'].map((namespace) => ({ ...secret('hunter2'), metadata: at('s', namespace) }));
    const dataOf = ({ data }: Secret) => data;
    const digests: string[] = [];
    const hashes = derivation<string>({
      name: 'hashes',
      compute({ key, read, digest }) {
        const [namespace = ''] = key.split('/');
        return digest(read.get(Secret, at('s', namespace), dataOf));
      },
    });
    const hashing = reconciler({
      name: 'hashing',
      resource: ConfigMap,
      reads: READS,
      reconcile({ object: { metadata }, read, digest }) {
        const { namespace = '' } = metadata;
        digests.push(digest(read.get(Secret, at('s', namespace), dataOf)), read.derived(hashes, `${namespace}/x`));
        return plan();
      },
    });
    evaluate({
      operator: operator({ name: 'test', kinds: [], reconcilers: [hashing] }),
      clock: createVirtualClock(),
      objects: [...owners, ...secrets],
    });
    const different = [...new Set(digests)];
    assert.equal(different.length, 2, 'one a namespace');
    const [one = '', two = ''] = different;
    assert.equal(one.split('.')[1], two.split('.')[1]);
    const earlier = one.replace('test_n', 'test').replace(/[0-9a-f]{32}$/, '0'.repeat(32));
    assert.ok(sameDigest(earlier, one), 'a hash of an earlier release rolls nothing');
  });

  test('a secret, by the key that the operator has', () => {
    const digestKey: DigestKey = { id: 'other', bytes: new Uint8Array(32).fill(1) };
    const check = ({ read, digest }: Context) => digest(read.get(Secret, at('s'), passwordOf));
    const [one, two] = [{}, { digestKey }].map((more) => seen(check, { ...withSecret('hunter2'), ...more }) as string);
    assert.match(two ?? '', /\.other_n\./);
    assert.notEqual(one?.split('.')[3], two?.split('.')[3]);
  });
});

/** Reads that a test may watch, over one Secret. */
function watched(check: (read: Reader, run: Run) => unknown) {
  const engine = createEngine({ clock: createVirtualClock() });
  const requirements = requirementsOf([
    reconciler({ name: 'x', resource: ConfigMap, reads: READS, reconcile: () => plan() }),
  ]);
  const worldOf = (name: string) => createStaticWorld({ name, engine, requirements, objects: [secret('hunter2')] });
  const world = worldOf('');
  const worlds = createWorldSet(engine, []);
  worlds.add(world, 'local');
  const digestKey = engine.table<DigestKey>({ name: 'digest key' });
  digestKey.put('test', { id: 'k', bytes: new Uint8Array(32) });
  const sources: ReadSources = {
    engine,
    worlds,
    facts: createKnownFacts(engine, []),
    outside: createKnownSources(engine, []),
    sinks: createSinkRegistry(engine),
    problems: new Map(),
    identities: engine.table<string>({ name: 'identities of clusters' }),
    delivered: new Set(),
    instants: createInstants(engine, createVirtualClock()),
    digestKey,
    bound: new Map(),
    digests: new WeakMap(),
    definitions: new Map(),
    projections: new WeakMap(),
  };
  let runs = 0;
  const reader = engine.derive<unknown>({
    name: 'reader',
    compute(_key, tracker) {
      runs++;
      const run: Run = {
        tracker,
        sources,
        sensitive: undefined,
        declared: undefined,
        name: 'reader',
        key: '',
        operator: 'test',
      };
      return check(new WorldReader(run, world), run) ?? null;
    },
  });
  engine.hold(reader, '');
  engine.flushSync();
  return {
    world,
    addWorld(name: string) {
      worlds.add(worldOf(name), 'local');
    },
    removeWorld(name: string) {
      worlds.remove(name);
    },
    /** How often the reader runs because of a change. */
    runsAfter(change: () => void): number {
      runs = 0;
      change();
      engine.flushSync();
      return runs;
    },
    value: () => engine.valueOf(reader, ''),
  };
}

describe('a world that comes or goes', () => {
  test('wakes those who asked for it, and those who asked for all', () => {
    const one = watched((read) => read.in('late') !== undefined);
    assert.equal(
      one.runsAfter(() => one.addWorld('other')),
      0,
    );
    assert.equal(
      one.runsAfter(() => one.addWorld('late')),
      1,
    );
    assert.deepEqual(one.value(), { state: 'value', value: true });
    assert.equal(
      one.runsAfter(() => one.removeWorld('late')),
      1,
    );
    assert.deepEqual(one.value(), { state: 'value', value: false });
    const all = watched((read) => read.worlds());
    assert.equal(
      all.runsAfter(() => all.addWorld('late')),
      1,
    );
  });
});

test('a digest that is remembered for one list of values is not given for another', () => {
  const objects = [service('shared'), { ...owner, metadata: { ...at('second'), uid: 'v' } }];
  const found: string[] = [];
  const reads = reconciler<ConfigMap>({
    name: 'reads',
    resource: ConfigMap,
    reads: READS,
    reconcile({ object, read, digest }) {
      found.push(digest(read.get(Service, at('shared')), object.metadata.name));
      return plan();
    },
  });
  const created = operator({ name: 'test', kinds: [], reconcilers: [reads] });
  evaluate({ operator: created, clock: createVirtualClock(), objects: [owner, ...objects] });
  assert.equal(new Set(found).size, 2);
});

describe('an equal result stops the wave', () => {
  /** How often the reader of a derivation over one Secret runs when the Secret changes. */
  function runsFor(
    definition: ReturnType<typeof derivation<unknown>>,
    project: ((value: never) => unknown) | undefined,
    next: Secret,
  ) {
    const { runsAfter, world } = watched((read, run) => {
      const value =
        project === undefined ? read.derived(definition, '') : read.derived(definition, '', project as never);
      return digestOf(run)(value);
    });
    return runsAfter(() => world.observeWrite(Secret, next));
  }

  const about = derivation<unknown>({
    name: 'about',
    compute({ read }) {
      const data = read.get(Secret, at('s'))?.data ?? {};
      return { keys: Object.keys(data), user: data['user'] };
    },
  });

  test('also where a secret was read that is not in the result', () => {
    assert.equal(runsFor(about, undefined, secret('hunter3')), 0);
    assert.equal(runsFor(about, undefined, { ...secret('hunter2'), data: { user: base64('root') } }), 1);
  });

  test('also through a projection of a result with secrets', () => {
    const keysOf = ({ keys }: { keys: string[] }) => keys;
    assert.equal(runsFor(about, keysOf, { ...secret('hunter2'), data: { password: '', user: base64('root') } }), 0);
  });

  test('a derivation that defines equality stops the wave by it', () => {
    const loose = derivation<unknown>({
      name: 'loose',
      compute: ({ read }) => read.get(Secret, at('s')),
      equals: (before, after) =>
        (before as Secret).kind === (after as Secret).kind && (after as Secret).kind === 'Secret',
    });
    assert.equal(runsFor(loose, undefined, secret('hunter3')), 0);
  });
});
