// Ports of a running ingress change under traffic: pods of `capstan up` with the real Envoy behind their Service.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import { Pod, Service } from '@capstan/kube';
import { SesameDeployment } from '../../src/kinds/index.ts';
import { ENVOY, eventually, get, startWorld, type World } from './world.ts';

const NAMESPACE = `edge-${Math.random().toString(36).slice(2, 8)}`;
const READY = 'Available=True/Available ConfigurationValid=True/Valid Progressing=False/RolledOut';

function reasonToSkip(): string | false {
  if (!existsSync(ENVOY)) return 'Envoy is not there: npm run setup:real -- envoy brings it, and the tests with it run';
  return process.getuid?.() === 0 ? false : 'port 80 of a Service needs the rights of root on this machine';
}

suite('the ports of Envoy', { skip: reasonToSkip(), concurrency: 1 }, () => {
  let world: World;
  before(async () => {
    world = await startWorld([NAMESPACE]);
    await world.backend('one');
    await world.proxy('store', 'store.test', 'one');
  });
  after(() => world.stop());

  const conditions = async (name: string) => {
    const { metadata, status } = await world.client.get(SesameDeployment, { namespace: NAMESPACE, name });
    const found = status?.conditions?.filter(({ observedGeneration }) => observedGeneration === metadata.generation);
    return found
      ?.map(({ type, status: is, reason }) => `${type}=${is}/${reason}`)
      .toSorted()
      .join(' ');
  };
  const settled = (name: string) =>
    eventually(
      () => conditions(name),
      (seen) => seen === READY,
      `${name} to roll out`,
    );
  const envoys = async (name: string) => {
    const { items } = await world.client.list(Pod, { namespace: NAMESPACE });
    return items.filter(({ metadata }) => metadata.name?.startsWith(`envoy-${name}-`) && !metadata.deletionTimestamp);
  };
  const portsOf = (pod: Pod | undefined) =>
    pod?.spec?.containers.flatMap(({ ports = [] }) => ports.map((each) => each.containerPort));

  const cases: readonly (readonly [name: string, title: string, envoy: object])[] = [
    ['pair', 'two Envoys lose no request', { workloadType: 'Deployment', deployment: { replicas: 2 } }],
    ['node', 'an Envoy for each node loses no request on one node', {}],
  ];
  for (const [name, title, envoy] of cases)
    test(`${title} when all ports change, when they are exchanged, and when they change back`, async (context) => {
      const { client } = world;
      const ref = { namespace: NAMESPACE, name };
      await client.create(SesameDeployment, {
        apiVersion: 'projectsesame.io/v1alpha1',
        kind: 'SesameDeployment',
        metadata: ref,
        spec: { replicas: 1, envoy },
      });
      await settled(name);
      const { spec } = await client.get(Service, { namespace: NAMESPACE, name: `envoy-${name}` });
      const address = spec?.clusterIP ?? '';
      await eventually(
        () => get(address, 80, 'store.test'),
        (seen) => seen === 'one',
        'the first answer',
      );
      const load = startRequests(address);
      for (const [http, https, health, metrics] of [
        [9080, 9443, 9002, 9002],
        [9443, 9080, 9002, 9003],
        [8080, 8443, 8002, 8002],
      ] as const) {
        const configuration = {
          envoy: { http: { port: http }, https: { port: https }, health: { port: health }, metrics: { port: metrics } },
        };
        await client.patch(SesameDeployment, ref, 'merge', { spec: { configuration } });
        await eventually(
          async () => (await envoys(name)).map(portsOf),
          (seen) => seen.length > 0 && seen.every((ports) => ports?.join() === [http, https, metrics].join()),
          `pods with port ${http}`,
        );
        await settled(name);
      }
      const { answers, failures } = await load.stop();
      context.diagnostic(`${answers} requests, ${failures.length} failed`);
      assert.deepEqual(failures, []);
      assert.ok(answers > 100, `only ${answers} requests were sent`);
      await client.delete(SesameDeployment, ref);
      await eventually(
        () => client.find(SesameDeployment, ref),
        (seen) => seen === undefined,
        'the deployment to go',
      );
    });
});

const PERIOD_MS = 20;

/** A new connection for each request, at a steady rate: a port without a listener fails at once. */
function startRequests(address: string) {
  const pending = new Set<Promise<void>>();
  const failures: string[] = [];
  let answers = 0;
  const started = Date.now();
  const timer = setInterval(() => {
    const sentAt = Date.now() - started;
    const one = get(address, 80, 'store.test').then((seen) => {
      answers += 1;
      if (seen !== 'one') failures.push(`${seen ?? 'no answer'} after ${sentAt} ms`);
    });
    pending.add(one);
    void one.finally(() => pending.delete(one));
  }, PERIOD_MS);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(pending);
      return { answers, failures };
    },
  };
}
