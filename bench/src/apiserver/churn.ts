// Large objects that are created, replaced and deleted without a pause, while others watch them: the memory of the server must not grow.
// CAPSTAN_CHURN_SECONDS sets the duration, CAPSTAN_CHURN_WATCHERS the number of watches.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../bench.ts';
import { median } from '../measure/percentiles.ts';
import { type Result, result } from '../measure/result.ts';
import { type Connection, openConnection, openSocket, requestBytes } from './connection.ts';
import { COLLECTION, createNamespace } from './objects.ts';
import { residentMegabytes } from './process-costs.ts';
import { type ServerUnderTest, startServer } from './server.ts';
import { inTempFolder } from './temp-folder.ts';

const SIZES = {
  full: { seconds: 120, clients: 4, objects: 100, bytes: 256 * 1024, watchers: 50, sampleMs: 1000 },
  tiny: { seconds: 1, clients: 2, objects: 4, bytes: 16 * 1024, watchers: 1, sampleMs: 100 },
};
type Size = (typeof SIZES)['full'];

const LIMIT_MEGABYTES = 400;

export const churn: Part = {
  name: 'churn',
  summary: 'memory of capstan up with all operators while objects of 256 KB are created, replaced and deleted',
  async measure(scale) {
    const seconds = Number(process.env['CAPSTAN_CHURN_SECONDS'] ?? SIZES[scale].seconds);
    const watchers = Number(process.env['CAPSTAN_CHURN_WATCHERS'] ?? SIZES[scale].watchers);
    const size = { ...SIZES[scale], seconds, watchers };
    return inTempFolder(async (folder) => {
      const server = await startServer({ program: 'up with operators', folder, data: join(folder, 'data') });
      try {
        return figures(await measureOn(server, size), size);
      } finally {
        await server.stop();
      }
    });
  },
};

interface Measured {
  writes: number;
  /** MB, in the order of time. */
  samples: readonly number[];
}

async function measureOn({ address, pids }: ServerUnderTest, size: Size): Promise<Measured> {
  const first = await openConnection(address);
  await first.exchange(createNamespace('bench'));
  const watchers = await Promise.all(Array.from({ length: size.watchers }, () => openSocket(address)));
  for (const watcher of watchers) watcher.resume().write(requestBytes('GET', `${COLLECTION}?watch=true`));
  const connections = [first];
  while (connections.length < size.clients) connections.push(await openConnection(address));
  const until = performance.now() + size.seconds * 1000;
  const samples: number[] = [];
  let writes = 0;
  const sample = async () => {
    while (performance.now() < until) {
      samples.push(residentMegabytes(pids));
      await sleep(size.sampleMs);
    }
  };
  const work = async (connection: Connection, client: number) => {
    for (let turn = 0; performance.now() < until; turn++) writes += await changeOne(connection, client, turn, size);
  };
  try {
    await Promise.all([sample(), ...connections.map(work)]);
    return { writes, samples };
  } finally {
    for (const watcher of watchers) watcher.destroy();
    for (const connection of connections) connection.close();
  }
}

/** Each client has objects of its own. One is created, replaced twice and deleted, when as many others as it may have are there. */
async function changeOne(connection: Connection, client: number, turn: number, size: Size): Promise<number> {
  const each = Math.floor(size.objects / size.clients);
  const name = `object-${client}-${turn}`;
  await connection.exchange(requestBytes('POST', COLLECTION, largeConfigMap(name, 0, size.bytes)));
  for (const change of [1, 2]) {
    await connection.exchange(requestBytes('PUT', `${COLLECTION}/${name}`, largeConfigMap(name, change, size.bytes)));
  }
  if (turn < each) return 3;
  await connection.exchange(requestBytes('DELETE', `${COLLECTION}/object-${client}-${turn - each}`));
  return 4;
}

/** Many values of one kilobyte; no two are the same. */
function largeConfigMap(name: string, change: number, bytes: number): object {
  const data: Record<string, string> = {};
  for (let index = 0; index * 1024 < bytes; index++) {
    data[`key-${index}`] = `${name} ${change} ${index} `.padEnd(1000, 'capstan ');
  }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

function figures({ writes, samples }: Measured, { seconds, bytes, watchers }: Size): Result[] {
  const what = `churn: ${seconds} s with objects of ${Math.round(bytes / 1024)} KB and ${watchers} watchers`;
  const half = samples.slice(Math.floor(samples.length / 2));
  return [
    result({
      name: `${what}, memory of capstan up, at most`,
      unit: 'MB',
      rounds: [Math.max(...samples)],
      below: LIMIT_MEGABYTES,
      note: `in the second half ${Math.round(Math.min(...half))} to ${Math.round(Math.max(...half))} MB; after each tenth of the time ${tenths(samples)} MB`,
    }),
    result({
      name: `${what}, memory of the last quarter beside the second`,
      unit: 'times',
      rounds: [median(quarter(samples, 3)) / median(quarter(samples, 1))],
      atMost: 1.1,
      note: 'medians; the first quarter fills what is kept: history, caches, objects',
    }),
    result({ name: `${what}, writes`, unit: '1/s', rounds: [writes / seconds] }),
  ];
}

const quarter = (samples: readonly number[], index: number) =>
  samples.slice(Math.floor((samples.length * index) / 4), Math.ceil((samples.length * (index + 1)) / 4));

function tenths(samples: readonly number[]): string {
  const at = (tenth: number) => samples[Math.max(0, Math.ceil((samples.length * tenth) / 10) - 1)] ?? 0;
  return Array.from({ length: 10 }, (_, index) => Math.round(at(index + 1))).join(', ');
}
