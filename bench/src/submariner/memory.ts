// The memory of a gateway with many remote clusters: a process of its own that knows all of them from its broker, with a
// cable to each. The cables are simulated: those of a kernel are not in its memory.
import { readFileSync } from 'node:fs';
import type { Client } from '@capstan/kube';
import { Cluster, Endpoint } from '@capstan/submariner';
import { localEndpoint } from '@capstan/submariner/gateway';
import { connectionsOf, createClusterSet, until } from '@capstan/submariner/real-cables';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';

const SIZES = { full: { remotes: 300, rounds: 3 }, tiny: { remotes: 5, rounds: 1 } };
const BROKER = 'submariner-k8s-broker';
const LIMIT_MS = 240_000;
/** As `capstan up` starts gateways. */
const SMALL = {
  nodeFlags: ['--optimize-for-size', '--semi-space-growth-factor=1', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'],
  env: { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' },
};

export const memory: Part = {
  name: 'memory',
  summary: 'memory of a gateway with hundreds of remote clusters',
  lacks: () => (process.platform === 'linux' ? undefined : 'the memory of another process is read from /proc (Linux)'),
  async measure(scale) {
    const { remotes, rounds } = SIZES[scale];
    const set = await createClusterSet({ east: [] });
    try {
      for (let index = 0; index < remotes; index++) await createRemote(set.client('broker'), index);
      const measured = { small: [] as number[], usual: [] as number[] };
      for (let round = 0; round < rounds; round++)
        for (const way of ['small', 'usual'] as const) {
          const gateway = await set.gateway('east', undefined, way === 'small' ? SMALL : {});
          await until(
            `${remotes} clusters are connected`,
            LIMIT_MS,
            async () =>
              (await connectionsOf(set, 'east')).filter(({ status }) => status === 'connected').length === remotes,
            () => gateway.log().slice(-2000),
          );
          await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
          measured[way].push(residentMB(gateway.pid));
          await gateway.kill('SIGTERM');
        }
      const figure = (name: string, values: readonly number[], below?: number): Result =>
        result({ name, unit: 'MB', rounds: values, ...(scale === 'full' && below !== undefined && { below }) });
      return [
        figure(`memory of a gateway with ${remotes} remote clusters`, measured.small, 110),
        figure('the same without V8’s flags for size', measured.usual),
      ];
    } finally {
      await set.close();
    }
  },
};

/** Several reports and heartbeats. */
const SETTLE_MS = 12_000;

/** Another cluster, as its gateway publishes it on the broker. */
async function createRemote(broker: Client, index: number): Promise<void> {
  const clusterID = `remote-${index}`;
  const [high, low] = [Math.floor(index / 200), index % 200];
  const subnets = [`10.${20 + high}.${low}.0/24`, `10.${120 + high}.${low}.0/24`];
  const local = { privateIP: `192.0.${2 + high}.${low + 1}`, subnets, sourceIP: `10.${20 + high}.${low}.1` };
  const started = new Map(['vxlan', 'wireguard', 'ipsec'].map((driver) => [driver, {}]));
  const more = { hostname: clusterID, publicIP: '', natEnabled: false, defaultDriver: 'vxlan', discoveryPort: 0 };
  const spec = localEndpoint({ clusterID, local, preferredServer: false }, started, more);
  await broker.create(Cluster, {
    apiVersion: Cluster.apiVersion,
    kind: Cluster.kind,
    metadata: { namespace: BROKER, name: clusterID, labels: { site: `s${index % 10}` } },
    spec: { cluster_id: clusterID, cluster_cidr: subnets.slice(0, 1), service_cidr: subnets.slice(1), global_cidr: [] },
  });
  await broker.create(Endpoint, {
    apiVersion: Endpoint.apiVersion,
    kind: Endpoint.kind,
    metadata: { namespace: BROKER, name: `${clusterID}-${spec.cable_name}` },
    spec,
  });
}

function residentMB(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1000;
}
