// A program with 1,000 owners under 50 changes a second, with and without a recording.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, sleep, systemClock } from '@capstan/kube';
import { createRuntime, type Recording, startRecording } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import { stopwatch } from '../measure/stopwatch.ts';
import { type Cluster, clientOf } from '../runtime/cluster.ts';
import { frontend } from '../runtime/settled-cluster.ts';
import { until } from '../runtime/until.ts';
import { WebProxy, webProxy } from '../runtime/web-proxy.ts';

export const CHANGES_A_SECOND = 50;

/** Lets a program follow changes for some seconds, and records where a folder is given. Returns seconds of processor time for each second. */
export async function followed(cluster: Cluster, owners: number, seconds: number, folder?: string): Promise<number> {
  const recording = folder === undefined ? undefined : recordingIn(folder);
  const runtime = createRuntime({
    operators: [frontend],
    clock: systemClock,
    random: createRandom(3),
    logger: silentLogger,
    ...(recording && { record: recording.recorder }),
  });
  runtime.setDigestKey({ id: 'bench', bytes: new Uint8Array(32) });
  runtime.addWorld({ name: '', client: clientOf(cluster.server.transport()) });
  const stopping = new AbortController();
  const running = runtime.run(stopping.signal);
  const rest = () => until(() => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0);
  await rest();
  const elapsed = stopwatch();
  const before = process.cpuUsage();
  for (let index = 0; index < seconds * CHANGES_A_SECOND; index++) {
    const early = (index * 1000) / CHANGES_A_SECOND - elapsed();
    if (early > 1) await sleep(systemClock, early);
    const object = webProxy(index % owners);
    const host = `host-${index}-${folder === undefined ? 'a' : 'b'}.example.com`;
    const body: WebProxy = { ...object, spec: { ...object.spec, host } };
    await cluster.client.apply(WebProxy, body, { fieldManager: 'bench', force: true });
  }
  const { user, system } = process.cpuUsage(before);
  const cpu = (user + system) / 1000 / elapsed();
  await rest();
  stopping.abort();
  await running;
  await recording?.end();
  return cpu;
}

function recordingIn(folder: string): Recording {
  return startRecording({ operators: [frontend], clock: systemClock, logger: silentLogger, folder, version: 'bench' });
}

/** The bytes of all files of a folder. */
export function sizeOf(folder: string): number {
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}
