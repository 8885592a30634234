// The two servers of the differential test, alike in everything that is configured: the real one runs the controllers that the
// embedded one has built in, and both have the custom kinds.
import { createRuleEvaluator, systemClock } from '@capstan/kube';
import { createRandom, findBinaries, type RealCluster, startRealCluster } from '@capstan/testing';
import { startCluster } from '../../src/index.ts';
import { GADGETS, WIDGETS } from './definitions.ts';
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts';

export interface Pair {
  /** Undefined where there is none on this machine. */
  real: ServerUnderTest | undefined;
  embedded: ServerUnderTest;
  close(): Promise<void>;
}

const CONTROLLERS = [
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'namespace-controller',
  'garbage-collector-controller',
  'clusterrole-aggregation-controller',
];

/** Why there is no real server; false when there is one. */
export function whyNoReal(): string | false {
  const binaries = findBinaries();
  if ('missing' in binaries) return binaries.missing;
  return binaries.path('kube-controller-manager') === undefined ? 'kube-controller-manager is not there' : false;
}

export async function startPair({ withReal }: { withReal: boolean }): Promise<Pair> {
  const opened: { close(): Promise<unknown> | void }[] = [];
  const close = async () => {
    for (const one of opened.toReversed()) await one.close();
  };
  const begin = async (label: string, kubeconfig: string) => {
    const server = serverUnderTest(label, kubeconfig);
    opened.push(server);
    for (const definition of [WIDGETS, GADGETS]) await define(server, definition);
    // A watch can begin only within a server's memory, which starts at the first request.
    for (const path of ['v1/widgets', 'v1beta1/widgets', 'v1/gadgets']) {
      await server.send({ method: 'GET', path: `/apis/differential.dev/${path}?resourceVersion=0`, headers: {} });
    }
    return server;
  };
  try {
    const cluster = await startCluster({
      clock: systemClock,
      random: createRandom(1),
      port: 0,
      evaluateRule: createRuleEvaluator(),
    });
    opened.push(cluster);
    const embedded = await begin('embedded', cluster.kubeconfig);
    let real: ServerUnderTest | undefined;
    if (withReal) {
      const started: RealCluster = await startRealCluster({ controllers: CONTROLLERS });
      opened.push(started);
      real = await begin('real', started.kubeconfig);
    }
    return { real, embedded, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

async function define(server: ServerUnderTest, definition: { metadata: { name: string } }): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const headers = { 'content-type': 'application/json' };
  const made = await server.send({ method: 'POST', path, headers, body: JSON.stringify(definition) });
  if (made.status !== 201) throw new Error(`${server.label}: ${made.text}`);
  for (const end = Date.now() + 20_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const { text } = await server.send({ method: 'GET', path: `${path}/${definition.metadata.name}`, headers: {} });
    if (/"type":"Established","status":"True"|"status":"True"[^}]*"type":"Established"/.test(text)) return;
    if (Date.now() > end) throw new Error(`${server.label}: ${definition.metadata.name} is not established: ${text}`);
  }
}
