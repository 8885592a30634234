// A real control plane with its own controllers and kubectl: edits in difficult orders, a rollback, a pause, and an operator that is
// killed. No pod stops before its successor is ready, and there is one ReplicaSet for each configuration.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import {
  type Client,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  type Kind,
  type KubeObject,
  ReplicaSet,
  Secret,
  Service,
  sleep,
  systemClock,
} from '@capstan/kube';
import {
  createRandom,
  faultyTransport,
  findBinaries,
  type HeldClock,
  heldClock,
  mortalClock,
  type RealCluster,
  startIncarnation,
  startRealCluster,
} from '@capstan/testing';
import {
  createKroxylicious,
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  VirtualKafkaCluster,
} from '../../src/index.ts';
import {
  certificate,
  checksum,
  cluster,
  condition,
  configurationOf,
  create,
  encoded,
  filter,
  get,
  NAMESPACE,
  object,
  opaque,
  patch,
  proxy,
  service,
  staged,
  tlsIngress,
  tlsSecret,
} from '../fixtures.ts';

const binaries = findBinaries();
const skip = 'missing' in binaries ? binaries.missing : false;
const run = promisify(execFile);
const QUIET_MS = 400;
/** The operator has seen an edit by then: it runs in this process, and reads its watches while the test sleeps. */
const SEEN_MS = 300;
const operators = [createKroxylicious({ quietMs: QUIET_MS })];
const [first, renewed] = await Promise.all([certificate(), certificate()]);

const byPort = (name: string, bootstrapPort: number) =>
  object(KafkaProxyIngress, name, {
    spec: { proxyRef: { name: 'my-proxy' }, clusterIP: { protocol: 'TCP', bootstrapPort } },
  });
const ingresses = {
  left: [{ ingressRef: { name: 'left' } }],
  right: [{ ingressRef: { name: 'right' } }],
  tls: [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } }],
};
const objects = (): KubeObject[] => [
  proxy({ replicas: 2 }),
  service(),
  byPort('left', 9400),
  byPort('right', 9500),
  tlsIngress(),
  opaque('kms', { password: 'one' }),
  tlsSecret('server', first),
  filter({ password: '${secret:kms:password}' }),
  cluster('a', { ingresses: ingresses.left, filterRefs: [{ name: 'encryption' }] }),
  cluster('b', { ingresses: ingresses.right }),
  cluster('c', { ingresses: ingresses.tls }),
];

/** Starts the operator in this process. It can be killed between any two writes. */
async function start(real: RealCluster, held: HeldClock) {
  const clock = mortalClock(held);
  const random = createRandom(1);
  const transport = faultyTransport(await real.transport(), { random, clock, schedule: {} });
  const program = startIncarnation({ operators, transport, clock, random });
  return {
    kill() {
      transport.crashAfterWrites(0);
      clock.kill();
    },
    stop: () => program.stop(),
    isResting: () => program.runtime.isSynced && program.runtime.isIdle && program.runtime.unsettled === 0,
  };
}

type Program = Awaited<ReturnType<typeof start>>;

/** Waits until the operator and the Deployment controller are idle. */
async function settle(client: Client, { isResting }: Program): Promise<Deployment> {
  for (let calm = 0, turn = 0; turn < 600; turn++) {
    await sleep(systemClock, 50);
    const found = await client.find(Deployment, { namespace: NAMESPACE, name: 'my-proxy' });
    const wanted = found?.spec?.replicas ?? 1;
    const { observedGeneration = 0, updatedReplicas, replicas, availableReplicas } = found?.status ?? {};
    const isRolled =
      observedGeneration >= (found?.metadata.generation ?? 1) &&
      [updatedReplicas, replicas, availableReplicas].every((count) => count === wanted);
    calm = isRolled && isResting() ? calm + 1 : 0;
    if (found !== undefined && calm * 50 > QUIET_MS * 3) return found;
  }
  throw new Error('it does not come to rest');
}

/** Returns the checksums of the templates of all ReplicaSets. */
async function configurations(client: Client): Promise<string[]> {
  const { items } = await client.list(ReplicaSet, { namespace: NAMESPACE });
  return items
    .map(({ spec }) => spec?.template?.metadata?.annotations?.['kroxylicious.io/referent-checksum'] ?? '')
    .sort();
}

const WATCHED = [
  KafkaProxy,
  VirtualKafkaCluster,
  KafkaProtocolFilter,
  KafkaService,
  KafkaProxyIngress,
  Deployment,
  ConfigMap,
  Service,
  Secret,
] as unknown as Kind[];
async function versions(client: Client): Promise<string[]> {
  const lists = await Promise.all(WATCHED.map((kind) => client.list(kind, { namespace: NAMESPACE })));
  return lists.flatMap(({ items }) =>
    items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`),
  );
}

describe('on a real control plane', { skip }, () => {
  test('each edit causes its expected number of rollouts', { timeout: 240_000 }, async (t) => {
    const real = await startRealCluster({ controllers: true, nodes: 2 });
    t.after(() => real.close());
    const { client } = real;
    const kubectl = (...args: string[]) =>
      run(real.program('kubectl'), args, {
        env: { KUBECONFIG: real.kubeconfigFile, HOME: dirname(real.kubeconfigFile) },
      });
    for (const kind of operators[0]?.kinds ?? [])
      await client.create(CustomResourceDefinition, kind.crd() as CustomResourceDefinition);
    await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s');
    // The quiet period of the operator begins when all edits of a step are made, however long a busy machine takes for them.
    const clock = heldClock(systemClock);
    const together = async (edit: () => Promise<unknown>) => {
      clock.hold();
      try {
        await edit();
        await sleep(systemClock, SEEN_MS);
      } finally {
        clock.release();
      }
    };
    let program = await start(real, clock);
    t.after(() => program.stop());
    const restart = async () => {
      program.kill();
      program = await start(real, clock);
    };
    await create(client, ...objects());
    const seen = new Set<string>();
    let before = checksum(await settle(client, program)) ?? '';
    seen.add(before);
    let fewest = 2;
    const watching = new AbortController();
    const watch = (async () => {
      while (!watching.signal.aborted) {
        const { status } = await get.deployment(client);
        fewest = Math.min(fewest, status?.availableReplicas ?? 0);
        await sleep(systemClock, 40);
      }
    })();

    /** Makes one edit and checks the number of rollouts that it causes. */
    const step = async (name: string, rollouts: 0 | 1, edit: () => Promise<unknown>) => {
      await together(edit);
      const after = checksum(await settle(client, program)) ?? '';
      seen.add(after);
      assert.deepEqual(await configurations(client), [...seen].sort(), name);
      assert.equal(after === before ? 0 : 1, rollouts, name);
      before = after;
    };
    const password = (text: string) => patch(client, Secret, 'kms', { data: encoded({ password: text }) });
    const ports = (name: string, bootstrapPort: number) =>
      patch(client, KafkaProxyIngress, name, { spec: { clusterIP: { bootstrapPort } } });

    await step('fifty edits in one go', 1, async () => {
      for (let i = 0; i < 50; i++) await password(`burst ${i}`);
    });
    await step('two edits that cancel each other', 0, async () => {
      await password('other');
      await password('burst 49');
    });
    await step('two clusters exchange their ports', 1, async () => {
      await ports('left', 9500);
      await restart();
      await ports('right', 9400);
    });
    assert.match(
      await configurationOf(client),
      /a-left-bootstrap.*\n.*localhost:9500[\s\S]*b-right-bootstrap.*\n.*localhost:9400/,
    );
    await step('a Secret goes while pods are rolled', 1, async () => {
      await patch(client, Secret, 'server', {
        data: encoded({ 'tls.crt': renewed.certificate, 'tls.key': renewed.key }),
      });
      clock.release();
      while ((await configurations(client)).length === seen.size) await sleep(systemClock, 20);
      await client.delete(Secret, { namespace: NAMESPACE, name: 'kms' });
      await restart();
    });
    assert.equal(condition(await get.cluster(client, 'a'), 'StaleConfig')?.status, 'True');
    await step('an ingress that is used goes', 0, () =>
      client.delete(KafkaProxyIngress, { namespace: NAMESPACE, name: 'right' }),
    );
    await step('what is missing comes back', 0, async () => {
      await create(client, byPort('right', 9400), opaque('kms', { password: 'burst 49' }));
    });
    assert.equal(condition(await get.proxy(client), 'Ready')?.status, 'True');
    await step('another type of a filter', 1, () =>
      patch(client, KafkaProtocolFilter, 'encryption', { spec: { type: 'Other' } }),
    );

    const rolledBackTo = [...seen].at(-2) ?? '';
    await kubectl('rollout', 'undo', 'deployment/my-proxy');
    before = checksum(await settle(client, program)) ?? '';
    assert.equal(before, rolledBackTo);
    assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'RolledBack');
    await step('a restart respects a rollback', 0, restart);
    await step('so does scaling', 0, () => patch(client, KafkaProxy, 'my-proxy', { spec: { replicas: 3 } }));
    await step('a change of the inputs ends it', 1, () => password('after the rollback'));

    await step('nothing is rolled while paused', 0, async () => {
      await kubectl('annotate', 'kafkaproxy/my-proxy', 'capstan.dev/paused=true');
      await password('while paused');
      await patch(client, VirtualKafkaCluster, 'b', { spec: { filterRefs: [{ name: 'encryption' }] } });
    });
    await step('and all at once afterwards', 1, () =>
      kubectl('annotate', 'kafkaproxy/my-proxy', 'capstan.dev/paused-'),
    );

    const random = createRandom(42);
    const edits = [
      () => password(`random ${random.integer(1, 3)}`),
      () => patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: random.pick(['x:9092', 'y:9092']) } }),
      () =>
        patch(client, VirtualKafkaCluster, 'b', {
          spec: { filterRefs: random.pick([null, [{ name: 'encryption' }]]) },
        }),
      () =>
        patch(client, VirtualKafkaCluster, 'c', {
          spec: { targetKafkaServiceRef: { name: random.pick(['upstream', 'none']) } },
        }),
      restart,
    ];
    for (let batch = 0; batch < 3; batch++) {
      await together(async () => {
        for (let count = random.integer(3, 8); count > 0; count--) await random.pick(edits)();
      });
      before = checksum(await settle(client, program)) ?? '';
      seen.add(before);
      assert.deepEqual(await configurations(client), [...seen].sort(), `random edits ${batch}`);
    }
    await patch(client, VirtualKafkaCluster, 'c', { spec: { targetKafkaServiceRef: { name: 'upstream' } } });
    before = checksum(await settle(client, program)) ?? '';

    watching.abort();
    await watch;
    assert.equal(fewest, 2, 'no pod went before its successor was ready');
    const atRest = await versions(client);
    await restart();
    await settle(client, program);
    await sleep(systemClock, 2000);
    assert.deepEqual(await versions(client), atRest, 'nothing is written at rest');

    const final = await finalObjects(client);
    await staged({ objects: final, ...(operators[0] ? { operator: operators[0] } : {}) }, async ({ client: fresh }) => {
      assert.equal(checksum(await get.deployment(fresh)), before);
      assert.equal(await configurationOf(fresh), await configurationOf(client));
    });
  });
});

/** Returns the present objects in the form in which a user would create them. */
async function finalObjects(client: Client): Promise<KubeObject[]> {
  const names: [Kind, string[]][] = [
    [KafkaProxy, ['my-proxy']],
    [KafkaService, ['upstream']],
    [KafkaProxyIngress, ['left', 'right', 'tls']],
    [Secret, ['kms', 'server']],
    [KafkaProtocolFilter, ['encryption']],
    [VirtualKafkaCluster, ['a', 'b', 'c']],
  ] as never;
  const found = await Promise.all(
    names.flatMap(([kind, all]) => all.map((name) => client.get(kind, { namespace: NAMESPACE, name }))),
  );
  return found.map(({ metadata, ...rest }) => {
    const { status: _, ...kept } = rest as KubeObject & { status?: unknown };
    return { ...kept, metadata: { namespace: NAMESPACE, name: metadata.name ?? '' } };
  });
}
