// The memory of a gateway with many remote clusters: a process of its own that knows all of them from its broker, with a
// cable to each. The cables are simulated: those of a kernel are not in its memory.
import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@capstan/kube';
import { Cluster, Endpoint } from '@capstan/submariner';
import { localEndpoint } from '@capstan/submariner/gateway';
import { connectionsOf, createClusterSet, until } from '@capstan/submariner/real-cables';
import type { Part } from '../bench.ts';
import { packProgram, ROOT } from '../install/built.ts';
import { IMAGE_ENVIRONMENT } from '../measure/image-environment.ts';
import { result } from '../measure/result.ts';

const SIZES = { full: { remotes: 300, rounds: 3 }, tiny: { remotes: 5, rounds: 1 } };
const BROKER = 'submariner-k8s-broker';
const LIMIT_MS = 240_000;

export const memory: Part = {
  name: 'memory',
  summary: 'memory of a gateway with hundreds of remote clusters',
  lacks: () => (process.platform === 'linux' ? undefined : 'the memory of another process is read from /proc (Linux)'),
  async measure(scale) {
    const { remotes, rounds } = SIZES[scale];
    // As its pods run it: the built program, which sets its flags of V8 by itself.
    const { folder } = await packProgram();
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'package/node_modules'));
    const program = [join(folder, 'package/bin/submariner.js'), 'gateway', '--cables', 'simulated'];
    const set = await createClusterSet({ east: [] });
    try {
      for (let index = 0; index < remotes; index++) await createRemote(set.client('broker'), index);
      const measured: { resident: number; anonymous: number; processorSeconds: number }[] = [];
      for (let round = 0; round < rounds; round++) {
        const gateway = await set.gateway('east', undefined, { program, env: IMAGE_ENVIRONMENT });
        await until(
          `${remotes} clusters are connected`,
          LIMIT_MS,
          async () =>
            (await connectionsOf(set, 'east')).filter(({ status }) => status === 'connected').length === remotes,
          () => gateway.log().slice(-2000),
        );
        const used = processorSeconds(gateway.pid);
        await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
        measured.push({
          processorSeconds: used,
          resident: memoryMB(gateway.pid, 'VmRSS'),
          anonymous: memoryMB(gateway.pid, 'RssAnon'),
        });
        await gateway.kill('SIGTERM');
      }
      return [
        result({
          name: `memory of a gateway with ${remotes} remote clusters`,
          unit: 'MB',
          rounds: measured.map(({ resident }) => resident),
          ...(scale === 'full' && { below: 110, everyRound: true }),
        }),
        result({
          name: 'the part of it that is not the program file',
          unit: 'MB',
          rounds: measured.map(({ anonymous }) => anonymous),
        }),
        result({
          name: 'processor time until all of them are connected',
          unit: 's',
          rounds: measured.map((each) => each.processorSeconds),
          note: 'the first round also copies all objects of the broker into the cluster',
        }),
      ];
    } finally {
      await set.close();
      rmSync(folder, { recursive: true, force: true });
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

function memoryMB(pid: number, field: 'VmRSS' | 'RssAnon'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1000;
}

/** Time on a processor, in its own code and in the kernel: fields 14 and 15 of stat, in hundredths of a second. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
