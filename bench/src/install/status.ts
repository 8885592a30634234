// `capstan status` of the built program in a cluster with 10,000 objects: all healthy, and all broken by one absent object. The cluster is
// in the bench's own process, so its work is in the time as well.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCluster } from '@capstan/apiserver';
import { KafkaProtocolFilter } from '@capstan/kroxylicious';
import {
  type Client,
  CustomResourceDefinition,
  connect,
  createClient,
  kindId,
  systemClock,
  type UnknownObject,
} from '@capstan/kube';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';
import { packProgram, ROOT } from './built.ts';

const OBJECTS = { full: 10_000, tiny: 100 };
const ROUNDS = { full: 3, tiny: 1 };
const AT_ONCE = 50;

export const status: Part = {
  name: 'status',
  summary: 'capstan status at 10,000 objects',
  async measure(scale) {
    const { folder } = await packProgram();
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'package/node_modules'));
    const program = join(folder, 'package/bin/capstan.js');
    const cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0 });
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
    const client = createClient({ transport: await connect({ env: { KUBECONFIG: kubeconfig } }) });
    try {
      await client.create(CustomResourceDefinition, KafkaProtocolFilter.crd());
      await established(client);
      const count = OBJECTS[scale];
      const results: Result[] = [];
      for (const health of [HEALTHY, BROKEN]) {
        await fill(client, count, health.conditions);
        results.push(
          result({
            name: `capstan status at ${count} objects, ${health.what}`,
            unit: 's',
            rounds: await seconds(program, kubeconfig, ROUNDS[scale]),
            below: 1,
          }),
        );
      }
      return results;
    } finally {
      await client.close();
      await cluster.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

const TIME = '2026-01-01T00:00:00Z';
const HEALTHY = {
  what: 'all healthy',
  conditions: [
    { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime: TIME, observedGeneration: 1 },
  ],
};
const BROKEN = {
  what: 'all broken by one absent Secret',
  conditions: [
    {
      type: 'ResolvedRefs',
      status: 'False',
      reason: 'ReferencedObjectMissing',
      message: 'Secret default/missing does not exist',
      lastTransitionTime: TIME,
      observedGeneration: 1,
    },
  ],
};

async function established(client: Client): Promise<void> {
  const ref = { name: `${KafkaProtocolFilter.plural}.${kindId(KafkaProtocolFilter).split('.').slice(1).join('.')}` };
  for (;;) {
    const found = await client.get(CustomResourceDefinition, ref);
    if (found.status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True')) return;
  }
}

async function fill(client: Client, count: number, conditions: readonly object[]): Promise<void> {
  const { apiVersion, kind } = KafkaProtocolFilter;
  const pending = Array.from({ length: count }, (_, index) => index);
  const work = async () => {
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      const metadata = { namespace: 'default', name: `filter-${index}` };
      const spec = { type: 'io.example.Filter', configTemplate: { rule: `rule ${index}`, text: 'x'.repeat(1_000) } };
      const object = { apiVersion, kind, metadata, spec } as unknown as UnknownObject;
      const how = { fieldManager: 'bench', force: true };
      await client.apply(KafkaProtocolFilter, object, how);
      const reported = { apiVersion, kind, metadata, status: { observedGeneration: 1, conditions } };
      await client.apply(KafkaProtocolFilter, reported, { ...how, subresource: 'status' });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** The first run fills the compile cache, and does not count. */
async function seconds(program: string, kubeconfig: string, rounds: number): Promise<number[]> {
  const taken: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const began = performance.now();
    const child = spawn(process.execPath, [program, 'status'], {
      env: { ...process.env, KUBECONFIG: kubeconfig },
      stdio: 'ignore',
    });
    await once(child, 'exit');
    taken.push((performance.now() - began) / 1000);
  }
  return taken.slice(1);
}
