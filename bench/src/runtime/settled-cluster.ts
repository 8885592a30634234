// A cluster on which an operator has nothing left to do: every owner has its Deployment and its status.
import { Deployment, silentLogger, systemClock } from '@capstan/kube';
import { apply, createRuntime, operator, plan, type RuntimeOptions, reconciler } from '@capstan/reconcile';
import { createRandom, type RecordingTransport, recordingTransport } from '@capstan/testing';
import { type Cluster, clientOf, createCluster } from './cluster.ts';
import { until } from './until.ts';
import { nameOf, namespaceOf, WebProxy, webProxy } from './web-proxy.ts';

export const frontend = operator({
  name: 'bench',
  kinds: [WebProxy],
  reconcilers: [
    reconciler<WebProxy>({
      name: 'frontend',
      resource: WebProxy,
      writes: [Deployment],
      reconcile({ object: proxy, digest }) {
        const { name = '', namespace = '' } = proxy.metadata;
        const hash = digest(proxy.spec.host, proxy.spec.routes);
        return plan({
          children: [apply(Deployment, deployment(namespace, name, hash))],
          status: { address: proxy.spec.host, summary: hash },
        });
      },
    }),
  ],
});

function deployment(namespace: string, name: string, hash: string) {
  const labels = { app: name };
  const template = {
    metadata: { labels, annotations: { hash } },
    spec: { containers: [{ name: 'proxy', image: 'proxy:1', args: ['--config', '/etc/proxy.yaml'] }] },
  };
  return { metadata: { name, namespace }, spec: { replicas: 2, selector: { matchLabels: labels }, template } };
}

/** Makes the owners and lets the operator settle them. */
export async function createSettledCluster(owners: number): Promise<Cluster> {
  const cluster = await createCluster(frontend.kinds);
  for (let index = 0; index < owners; index++) await cluster.client.create(WebProxy, webProxy(index));
  const program = startProgram(cluster);
  await program.rest();
  await program.stop();
  const last = await cluster.client.find(Deployment, { namespace: namespaceOf(owners - 1), name: nameOf(owners - 1) });
  if (last === undefined) throw new Error('the operator did not make its Deployments');
  return cluster;
}

export interface Program {
  readonly transport: RecordingTransport;
  /** Computations that have run. */
  readonly runs: number;
  /** Owners whose writes are known, be they none. */
  readonly evaluated: number;
  /** Resolves when everything is evaluated and written. */
  rest(): Promise<void>;
  /** Runs the plan of every owner again, and its comparison with the cluster. */
  evaluateAll(): Promise<void>;
  /** Digests everything that the plan of each owner was built from, as for a write; how many inputs there were. */
  digestInputs(): number;
  stop(): Promise<void>;
}

export function startProgram(cluster: Cluster, options: Pick<RuntimeOptions, 'checkPurity'> = {}): Program {
  const transport = recordingTransport(cluster.server.transport());
  let runs = 0;
  const runtime = createRuntime({
    operators: [frontend],
    clock: systemClock,
    random: createRandom(3),
    logger: silentLogger,
    ...options,
    observe: {
      wave(wave) {
        runs += wave.runs;
      },
    },
  });
  runtime.setDigestKey({ id: 'bench', bytes: new Uint8Array(32) });
  const world = runtime.addWorld({ name: '', client: clientOf(transport) });
  const stopping = new AbortController();
  const running = runtime.run(stopping.signal);
  const keys: string[] = [];
  return {
    transport,
    get runs() {
      return runs;
    },
    get evaluated() {
      const [binding] = runtime.bindings;
      return ownerKeys().filter(
        (key) => binding !== undefined && runtime.engine.valueOf(binding.writes, key)?.state === 'value',
      ).length;
    },
    rest: () => until(() => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0),
    async evaluateAll() {
      for (const { plans, writes } of runtime.bindings) {
        for (const key of ownerKeys()) {
          runtime.engine.invalidate(plans, key);
          runtime.engine.invalidate(writes, key);
        }
      }
      await runtime.settle();
    },
    digestInputs() {
      let inputs = 0;
      for (const { plans } of runtime.bindings)
        for (const key of ownerKeys()) inputs += runtime.engine.inputs(plans, key).values.length;
      return inputs;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };

  /** Keys of all owners, which are numbered without a gap. */
  function ownerKeys(): readonly string[] {
    const size = world.readTable(WebProxy)?.size ?? 0;
    while (keys.length < size) keys.push(`${namespaceOf(keys.length)}/${nameOf(keys.length)}`);
    return keys;
  }
}
