// One small operator on Capstan's runtime and on controller-runtime, each as a process of its own over TLS, at the same time
// against the same server. Edits go to one and to the other in turns, so that whatever else the machine does concerns both.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, openConnection } from '../../apiserver/connection.ts';
import { findPeer, peerNote } from '../../apiserver/peer.ts';
import { anonymousMegabytes, processorMilliseconds, residentMegabytes } from '../../apiserver/process-costs.ts';
import { type ServerUnderTest, startServer } from '../../apiserver/server.ts';
import { inTempFolder } from '../../apiserver/temp-folder.ts';
import type { Part, Scale } from '../../bench.ts';
import { type Figure, type Result, result } from '../../measure/result.ts';
import { assertSameWork } from '../../measure/same-work.ts';
import { latencyOf } from '../../measure/timing.ts';
import { childrenOf, configMapsIn, countOf, createPages, editRequest, watchSequences } from './pages.ts';
import { missingPeer, PEER, type RunningSide, SIDES, type Side, startSide } from './sides.ts';

export interface Size {
  pages: number;
  warmUp: number;
  rounds: number;
  /** Edits of each side in a round. */
  edits: number;
  /** Between an edit's child and the next edit. */
  pauseMs: number;
  /** How long the processes must have been quiet. */
  quietMs: number;
}

export const FULL = { warmUp: 300, rounds: 5, edits: 250, pauseMs: 20, quietMs: 3000 };
export const TINY: Size = { pages: 20, warmUp: 3, rounds: 1, edits: 6, pauseMs: 1, quietMs: 200 };

/** On the embedded server. */
export const peer5000 = peerPart('peer-5000', 5000);
export const peer20000 = peerPart('peer-20000', 20_000);

/** On a real kube-apiserver with etcd. */
export const peerReal: Part = {
  ...peerPart('peer-real', 5000, (_folder) => findPeer()?.()),
  summary: 'the same operator on Capstan and on controller-runtime, 5000 objects, on a real kube-apiserver',
  lacks: () => missingPeer() ?? (peerNote().replace('; no peer: ', '') || undefined),
};

type Start = (folder: string) => Promise<ServerUnderTest> | undefined;

function peerPart(name: string, pages: number, start: Start = startEmbedded): Part {
  return {
    name,
    summary: `the same operator on Capstan and on controller-runtime, ${pages} objects with a child each`,
    lacks: missingPeer,
    measure: (scale: Scale) =>
      inTempFolder(async (folder) => {
        const server = await start(folder);
        if (server === undefined) throw new Error(`there is no server${peerNote()}`);
        try {
          const measured = await measureOn(server, scale === 'tiny' ? TINY : { ...FULL, pages }, SIDES);
          return figuresOf(name, pages, measured);
        } finally {
          await server.stop();
        }
      }),
  };
}

export function startEmbedded(folder: string): Promise<ServerUnderTest> {
  return startServer({ program: 'server', folder, data: join(folder, 'data') });
}

export interface Measured {
  /** By round, then by side. */
  readonly rounds: readonly (readonly Round[])[];
  readonly resident: readonly Memory[];
  readonly restarted: readonly Memory[];
}

/** Runs both sides, edits in turns, and restarts them. */
export async function measureOn(server: ServerUnderTest, size: Size, sides: readonly Side[]): Promise<Measured> {
  const namespaces = sides.map((side) => side.name);
  await createPages(server.address, namespaces, size.pages);
  let running = await startBoth(server, sides);
  const editors: Editor[] = [];
  try {
    await settled(server, running, size, sides);
    // Not earlier: a server closes connections over which nothing comes for a while.
    for (const side of sides) editors.push(await openEditor(server, side.name));
    await editAll(editors, size, size.warmUp);
    const rounds: Round[][] = [];
    for (let round = 0; round < size.rounds; round++) {
      const before = running.map(({ pid }) => processorMilliseconds([pid]) ?? 0);
      const samples = await editAll(editors, size, size.edits);
      rounds.push(
        running.map(({ pid }, at) => ({
          ...latencyOf(samples[at] ?? []),
          processor: ((processorMilliseconds([pid]) ?? 0) - (before[at] ?? 0)) / size.edits,
        })),
      );
    }
    const resident = running.map(memoryOf);
    await checkWork(server, namespaces);
    for (const side of running) await side.stop();
    running = await startBoth(server, sides);
    await settled(server, running, size, sides);
    const restarted = running.map(memoryOf);
    return { rounds, resident, restarted };
  } finally {
    for (const editor of editors) editor.close();
    for (const side of running) await side.stop();
  }
}

/** Compares the children that both sides wrote for the same Pages and the same edits. */
async function checkWork({ address }: ServerUnderTest, namespaces: readonly string[]): Promise<void> {
  const connection = await openConnection(address);
  try {
    const sides = [];
    for (const name of namespaces) sides.push({ name, work: await childrenOf(connection, name) });
    assertSameWork(sides);
  } finally {
    connection.close();
  }
}

export interface Memory {
  resident: number;
  anonymous: number | undefined;
}

function memoryOf({ pid }: RunningSide): Memory {
  return { resident: residentMegabytes([pid]), anonymous: anonymousMegabytes(pid) };
}

export interface Round {
  p50: number;
  p99: number;
  /** Milliseconds an edit. */
  processor: number;
}

async function startBoth(server: ServerUnderTest, sides: readonly Side[]): Promise<RunningSide[]> {
  const running: RunningSide[] = [];
  try {
    for (const side of sides) running.push(await startSide(side, server.kubeconfig));
    return running;
  } catch (error) {
    for (const side of running) await side.stop();
    throw error;
  }
}

/** Every Page has its child, and neither process has had anything to do for a while. */
async function settled(
  { address }: ServerUnderTest,
  running: readonly RunningSide[],
  size: Size,
  sides: readonly Side[],
): Promise<void> {
  const connection = await openConnection(address);
  const deadline = performance.now() + SETTLE_LIMIT_MS;
  const late = () => {
    if (performance.now() > deadline) throw new Error('the operators did not come to rest in time');
  };
  for (const { name } of sides) {
    while ((await countOf(connection, configMapsIn(name))) < size.pages) {
      late();
      await sleep(200);
    }
  }
  connection.close();
  for (let quiet = 0; quiet < 2; ) {
    const before = running.map(({ pid }) => processorMilliseconds([pid]) ?? 0);
    await sleep(size.quietMs / 2);
    late();
    const used = running.map(({ pid }, at) => (processorMilliseconds([pid]) ?? 0) - (before[at] ?? 0));
    quiet = Math.max(...used) < Math.max(QUIET_SHARE * size.quietMs, QUIET_LEAST_MS) ? quiet + 1 : 0;
  }
}

const SETTLE_LIMIT_MS = 900_000;
const QUIET_SHARE = 0.05;
const QUIET_LEAST_MS = 20;

interface Editor {
  /** Milliseconds from the server's answer to the edit to the write of the child on the watch. */
  edit(number: number, pages: number): Promise<number>;
  close(): void;
}

async function openEditor({ address }: ServerUnderTest, namespace: string): Promise<Editor> {
  const connection: Connection = await openConnection(address);
  let waiting: { number: number; resolve(at: number): void } | undefined;
  const unwatch = await watchSequences(address, configMapsIn(namespace), (number) => {
    if (waiting?.number === number) waiting.resolve(performance.now());
  });
  return {
    async edit(number, pages) {
      let timer: NodeJS.Timeout | undefined;
      const visible = new Promise<number>((resolve) => {
        waiting = { number, resolve };
      });
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${namespace}: no child was written in time`)), EDIT_LIMIT_MS);
      });
      try {
        // Spread over all of them: neighbours in time are not neighbours in memory.
        const request = editRequest(namespace, (number * STRIDE) % pages, number);
        await Promise.race([connection.exchange(request), late]);
        const answered = performance.now();
        return (await Promise.race([visible, late])) - answered;
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      connection.close();
      unwatch();
    },
  };
}

const STRIDE = 7919;
const EDIT_LIMIT_MS = 30_000;

/** Edits of both sides, in turns; which one begins changes each time. */
async function editAll(editors: readonly Editor[], size: Size, count: number): Promise<number[][]> {
  const samples: number[][] = editors.map(() => []);
  for (let index = 0; index < count; index++) {
    const order = index % 2 === 0 ? [...editors.keys()] : [...editors.keys()].toReversed();
    const number = nextNumber++;
    for (const at of order) {
      samples[at]?.push((await editors[at]?.edit(number, size.pages)) ?? Number.NaN);
      await sleep(size.pauseMs);
    }
  }
  return samples;
}

let nextNumber = 1;

function figuresOf(part: string, pages: number, { rounds, resident, restarted }: Measured): Result[] {
  const [ours, theirs] = [0, 1].map((at) => rounds.flatMap((round) => round[at] ?? []));
  const figure = (name: string, unit: string, target: Partial<Figure>, of: (round: Round) => number) =>
    result({
      name: `${part}: ${name}`,
      unit,
      rounds: ours?.map(of) ?? [],
      peer: { name: PEER, rounds: theirs?.map(of) ?? [] },
      ...target,
    });
  const memory = (name: string, [own, other]: readonly Memory[]) => {
    const note = `without pages of files, which processes share: ${describe(own)} and ${describe(other)} MB`;
    return result({
      name: `${part}: ${name}`,
      unit: 'MB',
      rounds: [own?.resident ?? 0],
      peer: { name: PEER, rounds: [other?.resident ?? 0] },
      ratioAtMost: pages > 5000 ? 1.1 : 1.5,
      note,
    });
  };
  return [
    figure('edit to write, p50, wall clock', 'ms', { ratioAtMost: 1 }, ({ p50 }) => p50),
    figure('edit to write, p99, wall clock', 'ms', { ratioAtMost: 1 }, ({ p99 }) => p99),
    figure('processor time of an edit', 'ms', { ratioAtMost: 1 }, ({ processor }) => processor),
    memory('resident memory after the edits', resident),
    memory('resident memory after a restart', restarted),
  ];
}

function describe(memory: Memory | undefined): string {
  return memory?.anonymous === undefined ? 'unknown' : String(Math.round(memory.anonymous));
}
