// Random edits of backends, their credentials and the routes to them: each is previewed, made and compared.
// On the embedded server only: minutes pass at once there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, type Kind, type KubeObject, Secret, Service, systemClock } from '@capstan/kube';
import {
  assertForetold,
  createRandom,
  createStage,
  foretoldRuns,
  type RandomEdit,
  type SeededRandom,
  toRest,
} from '@capstan/testing';
import { DiscoveryBackend } from '../src/index.ts';
import { createGimbal } from '../src/operator.ts';
import { backend, httpRoute, install, kindOf, proxy, ref, service, type Weight } from './maintenance/fixtures.ts';
import { createRemote, secretOf } from './operator/fixtures.ts';

const BACKENDS = ['x', 'y'];
const SERVICES = ['x-a', 'x-b', 'y-a', 'local-l'];

type Make = (random: SeededRandom) => KubeObject;
const OBJECTS: readonly Make[] = [
  ...BACKENDS.map(
    (name): Make =>
      (random) =>
        backend(name, backendSpec(random)),
  ),
  ...BACKENDS.map(
    (name): Make =>
      (random) =>
        backend(name, backendSpec(random)),
  ),
  ...BACKENDS.map(
    (name): Make =>
      (random) =>
        secretOf(`${name}-kubecfg`, random.pick(['A one', 'A two', 'B one', 'unreadable'])),
  ),
  ...['r', 's'].map(
    (name): Make =>
      (random) =>
        proxy(name, references(random)),
  ),
  (random) => httpRoute('t', references(random)),
  ...SERVICES.map(
    (name): Make =>
      () =>
        service(name),
  ),
];

function references(random: SeededRandom): Record<string, Weight> {
  const chosen = SERVICES.filter(() => random.chance(0.6));
  const weight = (): Weight => (random.chance(0.3) ? '_' : random.integer(0, 10));
  return Object.fromEntries((chosen.length === 0 ? ['x-a'] : chosen).map((name) => [name, weight()]));
}

function backendSpec(random: SeededRandom): object {
  const some = (fields: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.3)));
  return {
    clusterStatus: random.pick(['Ready', 'Maintenance']),
    ...some({
      debug: true,
      endpoint: 'https://other.example:6443',
      refreshInterval: random.pick(['10s', '60s']),
      maintenance: some({
        onNoCapacity: random.pick(['Zero', 'Keep', 'Reject']),
        promoteZero: true,
        drainPercent: random.pick([50, 100]),
      }),
    }),
  };
}

const kindFor = (object: KubeObject): Kind => (object.kind === 'Secret' ? Secret : kindOf(object));

for (const { seed, edits, variety } of foretoldRuns(15))
  test(`${edits} random edits of backends and routes do what their previews show (seed ${seed})`, async (t) => {
    const random = createRandom(seed);
    const next = (): RandomEdit => {
      const object = random.pick(OBJECTS)(random);
      const kind = kindFor(object);
      return random.chance(0.15) ? { kind, gone: ref(object.metadata.name ?? '') } : { kind, object };
    };
    const { verify } = createRemote('A one', 'A two', 'B one');
    const stage = await createStage({
      operators: [createGimbal({ verify })],
      ruled: '0034: another program of the operator created it',
      async given(client) {
        await install(client, 'http-proxy', 'http-route');
        for (const name of SERVICES) await client.create(Service, service(name));
        for (const name of BACKENDS) {
          await client.create(Secret, secretOf(`${name}-kubecfg`, 'A one'));
          await client.create(DiscoveryBackend, backend(name));
        }
        for (const one of [proxy('r', { 'x-a': 3, 'y-a': 1 }), proxy('s', { 'x-a': '_' })])
          await client.create(kindOf(one), one);
      },
    });
    try {
      await stage.settle();
      await toRest(stage);
      await assertForetold({ stage, edits, next, variety, report: (line) => t.diagnostic(line) });
    } finally {
      await stage.end();
    }
  });

test('a plan of a backend notes that it does not show the objects which the discoverer mirrors', async () => {
  const context = { clock: systemClock, signal: new AbortController().signal };
  const notesOf = async (kind: Kind, after: KubeObject | undefined) =>
    (await createGimbal().instances?.({ client: {} as Client, ...context, given: [{ kind, after }] }))?.notes;
  const changed = backend('x', { clusterStatus: 'Ready' });
  const [note, ...others] = (await notesOf(kindOf(changed), changed)) ?? [];
  assert.match(
    note ?? '',
    /^DiscoveryBackend default\/x: the Services and EndpointSlices that its discoverer then mirrors/,
  );
  assert.deepEqual(others, []);
  assert.deepEqual(await notesOf(kindOf(changed), undefined), []);
  assert.deepEqual(await notesOf(Service, service('x-a')), []);
});
