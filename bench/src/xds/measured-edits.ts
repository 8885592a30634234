// Edits of each control plane in turns, one at a time: latency by the clock on the wall, bytes at the client, processor time of the process.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, openConnection } from '../apiserver/connection.ts';
import { processorMilliseconds } from '../apiserver/process-costs.ts';
import type { ControlPlane, RunningControlPlane } from './control-planes.ts';
import { endpointEdit, routeEdit } from './objects.ts';
import { quiet, type Scene } from './scene.ts';
import type { Subscriber } from './subscriptions.ts';

export type Edit = 'route with TLS' | 'route without TLS' | 'endpoint';
export const EDITS: readonly Edit[] = ['route with TLS', 'route without TLS', 'endpoint'];

/** A control plane that runs, with the client that its resources arrive at. */
export interface Measured {
  readonly plane: ControlPlane;
  readonly running: RunningControlPlane;
  readonly subscriber: Subscriber;
}

export interface Measurement {
  /** Milliseconds from the API server's answer to the client's; never below 0: the answer may be the later one. */
  readonly latencies: readonly number[];
  /** Milliseconds from the request. */
  readonly whole: readonly number[];
  readonly bytes: number;
  readonly cpuMs: number;
}

const PAUSE_MS = 10;
const STRIDE = 7919;
const QUIET_MS = 1_000;
let turns = 0;

/** Makes `count` edits of each kind, and fewer of a slow one, by the factor `slow`. */
export async function measureEdits(
  { server, size }: Scene,
  sides: readonly Measured[],
  edit: Edit,
  count: (plane: ControlPlane) => number,
): Promise<Measurement[]> {
  const connections: Connection[] = [];
  const latencies: number[][] = sides.map(() => []);
  const whole: number[][] = sides.map(() => []);
  try {
    for (const { running } of sides) {
      await quiet(running.pid, QUIET_MS);
      connections.push(await openConnection(server.address));
    }
    const before = sides.map(costsOf);
    const most = Math.max(...sides.map(({ plane }) => count(plane)));
    for (let turn = 0; turn < most; turn++) {
      for (const [at, side] of sides.entries()) {
        // Spread evenly over the run, so that whatever else the machine does concerns both.
        if (Math.floor(((turn + 1) * count(side.plane)) / most) === Math.floor((turn * count(side.plane)) / most))
          continue;
        const connection = connections[at];
        if (!connection) continue;
        const sample = await editOnce(connection, side, edit, size);
        latencies[at]?.push(sample.latency);
        whole[at]?.push(sample.whole);
        await sleep(PAUSE_MS);
      }
    }
    for (const { running } of sides) await quiet(running.pid, QUIET_MS);
    return sides.map((side, at) => {
      const after = costsOf(side);
      const edits = latencies[at]?.length ?? 1;
      return {
        latencies: latencies[at] ?? [],
        whole: whole[at] ?? [],
        bytes: (after.bytes - (before[at]?.bytes ?? 0)) / edits,
        cpuMs: (after.cpuMs - (before[at]?.cpuMs ?? 0)) / edits,
      };
    });
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function editOnce(connection: Connection, { plane, subscriber }: Measured, edit: Edit, size: number) {
  turns += 1;
  // Neighbours in time are not neighbours in memory.
  const host = (turns * STRIDE) % size;
  const index = edit === 'endpoint' ? host : edit === 'route with TLS' ? host & ~1 : Math.min(host | 1, size - 1);
  const isEndpoint = edit === 'endpoint';
  const mark = isEndpoint ? `10.${200 + (turns >> 16)}.${(turns >> 8) & 255}.${turns & 255}` : `/mark-${turns}-`;
  const request = isEndpoint ? endpointEdit(plane, index, mark) : routeEdit(plane, index, mark);
  const began = performance.now();
  const seen = subscriber.seen(mark);
  seen.catch(() => undefined);
  await connection.exchange(request);
  const answered = performance.now();
  const arrived = await seen;
  return { latency: Math.max(0, arrived - answered), whole: arrived - began };
}

function costsOf({ running, subscriber }: Measured) {
  return { bytes: subscriber.connection.bytes, cpuMs: processorMilliseconds([running.pid]) ?? 0 };
}
