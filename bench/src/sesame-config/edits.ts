// From an edit of the SesameConfiguration to `Applied` on it, in a running `sesame serve` with routes and an xDS server.
import { Service, silentLogger, systemClock } from '@capstan/kube';
import {
  ExtensionService,
  HTTPProxy,
  parseServeFlags,
  SesameConfiguration,
  TLSCertificateDelegation,
} from '@capstan/sesame';
import { runServe } from '@capstan/sesame/program';
import { freePorts } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { stopwatch } from '../measure/stopwatch.ts';
import { latencyOf } from '../measure/timing.ts';
import { type Cluster, clientOf, createCluster } from '../runtime/cluster.ts';

const SIZES = { full: { proxies: 200, warmUp: 50, edits: 500 }, tiny: { proxies: 3, warmUp: 1, edits: 4 } };
const NAMESPACE = 'default';
const REF = { namespace: NAMESPACE, name: 'sesame' };

/** One field of each class that must not interrupt xDS. */
const CLASSES: readonly { name: string; spec: (round: number) => object }[] = [
  { name: 'listener', spec: (round) => ({ envoy: { timeouts: { requestTimeout: `${round + 1}s` } } }) },
  { name: 'in-memory', spec: (round) => ({ policy: { requestHeaders: { set: { 'X-Round': String(round) } } } }) },
];

export const edits: Part = {
  name: 'edits',
  summary: 'from an edit to Applied on the resource',
  async measure(scale) {
    const { proxies, warmUp, edits: count } = SIZES[scale];
    const cluster = await createCluster([SesameConfiguration, HTTPProxy, TLSCertificateDelegation, ExtensionService]);
    const served = await startServe(cluster, proxies);
    try {
      const figures = [];
      for (const { name, spec } of CLASSES) {
        const samples: number[] = [];
        for (let round = 0; round < warmUp + count; round++) {
          const elapsed = await served.edit(spec(round));
          if (round >= warmUp) samples.push(elapsed);
        }
        const { p50, p99 } = latencyOf(samples);
        figures.push(
          result({
            name: `edit of the ${name} class to Applied, p99`,
            unit: 'ms',
            rounds: [p99],
            ...(scale === 'full' ? { below: 200 } : {}),
            note: `from sending the edit; p50 ${p50.toFixed(1)} ms; ${proxies} HTTPProxies, ${count} edits`,
          }),
        );
      }
      return figures;
    } finally {
      await served.stop();
      await cluster.close();
    }
  },
};

async function startServe(cluster: Cluster, proxies: number) {
  const { client } = cluster;
  for (let index = 0; index < proxies; index++) {
    const at = { namespace: NAMESPACE, name: `shop-${index}` };
    const ports = [{ name: 'http', port: 80, protocol: 'TCP' as const }];
    await client.create(Service, { apiVersion: 'v1', kind: 'Service', metadata: at, spec: { ports } });
    await client.create(HTTPProxy, {
      apiVersion: HTTPProxy.apiVersion,
      kind: HTTPProxy.kind,
      metadata: at,
      spec: {
        virtualhost: { fqdn: `shop-${index}.example.com` },
        routes: [{ conditions: [{ prefix: '/' }], services: [{ name: at.name, port: 80 }] }],
      },
    });
  }
  const { apiVersion, kind } = SesameConfiguration;
  await client.create(SesameConfiguration, { apiVersion, kind, metadata: REF, spec: {} });
  const [xds = 0, health = 0, debug = 0] = await freePorts(3);
  const flags = parseServeFlags([
    '--insecure',
    '--xds-address=127.0.0.1',
    `--xds-port=${xds}`,
    '--health-address=127.0.0.1',
    `--health-port=${health}`,
    '--http-address=127.0.0.1',
    `--http-port=${health}`,
    `--debug-http-port=${debug}`,
    `--leader-election-resource-namespace=${NAMESPACE}`,
  ]);
  const stopping = new AbortController();
  const own = clientOf(cluster.server.transport());
  const running = runServe({
    choice: { ...REF, flags: flags.fields, watchNamespaces: undefined, invalidPolicy: 'stop' },
    pod: 'bench',
    identity: 'bench',
    client: own,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
    signal: stopping.signal,
    setLogLevel: () => {},
    errorMode: 'wait',
    changeMode: 'apply',
  });
  const applied = await watchApplied(cluster);
  await applied.reaches(1);
  return {
    async edit(spec: object): Promise<number> {
      const elapsed = stopwatch();
      const { metadata } = await client.patch(SesameConfiguration, REF, 'merge', { spec });
      await applied.reaches(metadata.generation ?? 0);
      return elapsed();
    },
    async stop() {
      applied.stop();
      stopping.abort();
      await running;
      await own.close();
    },
  };
}

/** Follows the condition by a watch: looking all the time would take the time that is measured. */
async function watchApplied({ client }: Cluster) {
  let generation = 0;
  let waiting: { wanted: number; resolve: () => void } | undefined;
  const see = (object: SesameConfiguration) => {
    const condition = object.status?.conditions?.find(({ type }) => type === 'Applied');
    if (condition?.status === 'True') generation = condition.observedGeneration ?? 0;
    if (waiting !== undefined && generation >= waiting.wanted) waiting.resolve();
  };
  const { items, resourceVersion } = await client.list(SesameConfiguration, { namespace: NAMESPACE });
  for (const item of items) see(item);
  const ending = new AbortController();
  const { signal } = ending;
  const stream = await client.watch(SesameConfiguration, { namespace: NAMESPACE, resourceVersion, signal });
  const following = (async () => {
    for await (const events of stream)
      for (const event of events)
        if (event.type === 'ADDED' || event.type === 'MODIFIED') see(event.object as SesameConfiguration);
  })();
  following.catch(() => {});
  return {
    async reaches(wanted: number): Promise<void> {
      if (generation >= wanted) return;
      await new Promise<void>((resolve) => {
        waiting = { wanted, resolve };
      });
      waiting = undefined;
    },
    stop: () => ending.abort(),
  };
}
