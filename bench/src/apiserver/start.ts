// The time from its start until a server accepts a write, with a new data folder, and the memory that it then uses at rest.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';
import { sizeOf } from './brief.ts';
import { type FirstWrite, startAndWrite, startedAndWritten } from './first-write.ts';
import { findPeer, PEER, peerNote } from './peer.ts';
import { residentMegabytes } from './process-costs.ts';
import type { Program, ServerUnderTest } from './server.ts';
import { inTempFolder } from './temp-folder.ts';

const SIZES = {
  full: { rounds: 5, idleMs: 3000 },
  tiny: { rounds: 1, idleMs: 10 },
};
const BRIEF = { rounds: 3, idleMs: 1000 };

const PROGRAMS: readonly { program: Program; what: string }[] = [
  { program: 'server', what: 'API server alone' },
  { program: 'up', what: 'capstan up' },
  { program: 'up with operators', what: 'capstan up with all operators' },
];

/**
 * The limits of each program. With all operators the start includes their definitions, and rest begins later: five times as long after the
 * first write, when their work is done and V8 has released its room for new objects, which it does after eight seconds without work.
 */
const LIMITS: Readonly<Record<Program, { ms: number; megabytes: number; idleFactor: number }>> = {
  server: { ms: 500, megabytes: 150, idleFactor: 1 },
  up: { ms: 500, megabytes: 150, idleFactor: 1 },
  'up with operators': { ms: 5000, megabytes: 180, idleFactor: 5 },
};

export const start: Part = {
  name: 'start',
  summary: 'from the start of the process to the first write, and its memory when idle',
  async measure(scale) {
    const { rounds, idleMs } = sizeOf(SIZES, scale, BRIEF);
    return inTempFolder(async (folder) => {
      const figures: Result[] = [];
      const startPeer = findPeer();
      const peers: Started[] = [];
      for (let round = 0; startPeer !== undefined && round < rounds; round++) {
        peers.push(await idle(await startedAndWritten(startPeer, 'first'), idleMs));
      }
      const beside = (values: readonly number[]) =>
        values.length === 0 ? {} : { peer: { name: PEER, rounds: values } };
      for (const { program, what } of PROGRAMS) {
        // Each program has a folder of its own: the two have modules in common, and the second one would find them compiled.
        const own = join(folder, program);
        await mkdir(own);
        const measured: Started[] = [];
        // The first start finds nothing compiled.
        for (let round = 0; round <= rounds; round++) {
          measured.push(await startOnce(program, own, join(own, `data-${round}`), idleMs * LIMITS[program].idleFactor));
        }
        const [cold, ...warm] = measured;
        const walls = warm.map(({ wall }) => Math.round(wall));
        figures.push(
          result({
            name: `start: ${what}, process start to first write`,
            unit: 'ms',
            rounds: warm.map(({ elapsed }) => elapsed),
            below: LIMITS[program].ms,
            note: `new data folder, keys and certificates included; ${Math.min(...walls)}-${Math.max(...walls)} ms by the clock on the wall`,
          }),
          result({
            name: `start: ${what}, by the clock on the wall`,
            unit: 'ms',
            rounds: warm.map(({ wall }) => wall),
            ...beside(peers.map(({ wall }) => wall)),
            note: `process start to first write, keys and certificates included${peerNote()}`,
          }),
          result({
            name: `start: ${what}, the very first time`,
            unit: 'ms',
            rounds: cold === undefined ? [] : [cold.elapsed],
            note: 'Node has kept nothing of the compiled modules yet',
          }),
          result({
            name: `start: ${what}, memory when idle`,
            unit: 'MB',
            rounds: measured.map(({ memory }) => memory),
            below: LIMITS[program].megabytes,
            ...beside(peers.map(({ memory }) => memory)),
            note: `resident set ${idleMs * LIMITS[program].idleFactor} ms after the first write`,
          }),
        );
      }
      return figures;
    });
  },
};

interface Started extends FirstWrite {
  memory: number;
}

async function startOnce(program: Program, folder: string, data: string, idleMs: number): Promise<Started> {
  return idle(await startAndWrite({ program, folder, data }, 'first'), idleMs);
}

/** Its memory after a while of doing nothing; ends it. */
async function idle({ server, ...times }: FirstWrite & { server: ServerUnderTest }, idleMs: number): Promise<Started> {
  try {
    await sleep(idleMs);
    return { ...times, memory: residentMegabytes(server.pids) };
  } finally {
    await server.stop();
  }
}
