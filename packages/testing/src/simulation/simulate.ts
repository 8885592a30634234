// One simulated history: people change things, the program follows, the network and the server misbehave, the process dies
// between any two writes and is started again. In the end, with everything healthy, the state must be the one that is
// reached without faults, nothing may be written any more, and no child may be left over.
import { ClusterRole, ConfigMap, Deployment, type Kind, kindId, Secret } from '@capstan/kube';
import type { RecordLife } from '../captures/record-lives.ts';
import { createTestCluster, type TestCluster } from '../cluster.ts';
import { formatFaults } from '../faults/fault-log.ts';
import { randomSchedule } from '../faults/fault-schedule.ts';
import { type FaultyTransport, faultyTransport } from '../faults/faulty-transport.ts';
import { type MortalClock, mortalClock } from '../faults/mortal-clock.ts';
import { type Incarnation, startIncarnation } from '../incarnation.ts';
import { createRandom, type SeededRandom } from '../random.ts';
import { recordingTransport } from '../stage/recording-transport.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';
import { differences, type State, stateOf } from './cluster-state.ts';
import { recover, SILENCE_MS } from './recovery.ts';
import { createScript, type Move } from './script.ts';
import { Fleet, Site, simulatedOperator } from './simulated-operator.ts';

export interface SimulationOptions {
  seed: number;
  /** Moves that people make in each of the two acts; default 6. */
  moves?: number;
  /** Records the inputs of every life of the program. */
  record?: RecordLife;
}

export interface SimulationReport {
  readonly seed: number;
  /** The problems, in words; empty if there are none. */
  readonly problems: readonly string[];
  readonly moves: readonly string[];
  readonly faults: string;
  readonly crashes: number;
  readonly writes: number;
}

const OPERATORS = [simulatedOperator];
const KINDS: readonly Kind[] = [Site, Fleet, ConfigMap, Deployment, Secret, ClusterRole];
export async function simulate({ seed, moves = 6, record }: SimulationOptions): Promise<SimulationReport> {
  const script = createScript(createRandom(seed).fork('script'), moves);
  const reference = await calmHistory(seed, script);
  const stormy = await stormyHistory(seed, script, record);
  const problems = [...unserved(reference), ...stormy.problems, ...differences(reference, stormy.state)];
  return {
    seed,
    problems,
    moves: script.flat().map(({ name }) => name),
    faults: stormy.faults,
    crashes: stormy.crashes,
    writes: stormy.writes,
  };
}

async function calmHistory(seed: number, script: readonly Move[][]): Promise<State> {
  const clock = createVirtualClock();
  const random = createRandom(seed);
  const cluster = await createTestCluster({ clock, random, operators: OPERATORS });
  const program = startIncarnation({ operators: OPERATORS, transport: cluster.transport(), clock, random });
  for (const moves of script) {
    for (const { afterMs, act } of moves) {
      await clock.advance(afterMs);
      await act(cluster.client);
    }
    await recover(clock, program.runtime);
  }
  const state = await stateOf(cluster, KINDS);
  await program.stop();
  await cluster.close();
  return state;
}

interface Life {
  readonly clock: MortalClock;
  readonly transport: FaultyTransport;
  readonly program: Incarnation;
}

async function stormyHistory(seed: number, script: readonly Move[][], record: RecordLife | undefined) {
  const clock = createVirtualClock();
  const random = createRandom(seed).fork('storm');
  const start = clock.now();
  const cluster = await createTestCluster({ clock, random: random.fork('server'), operators: OPERATORS });
  const schedule = randomSchedule(random.fork('schedule'));
  const faults: FaultyTransport['faults'][number][] = [];
  let crashes = 0;
  let life = begin(cluster, clock, random.fork('life 0'), schedule, record);
  /** Kills the process without any cleanup: its successor finds its remains. */
  const reincarnate = (calm: boolean) => {
    life.clock.kill();
    faults.push(...life.transport.faults);
    life = begin(cluster, clock, random.fork(`life ${++crashes}`), calm ? {} : schedule, record);
  };
  const problems: string[] = [];
  for (const [index, moves] of script.entries()) {
    if (index > 0) reincarnate(false);
    for (const { afterMs, act } of moves) {
      await clock.advance(afterMs);
      if (life.transport.dead || random.chance(0.1)) reincarnate(false);
      if (random.chance(0.15)) cluster.server.compact(random.integer(1, cluster.server.revision));
      await act(cluster.client);
    }
    await clock.advance(random.integer(0, 20_000));
    if (life.transport.dead) reincarnate(true);
    life.transport.heal();
    life.transport.crashAfterWrites(Number.POSITIVE_INFINITY);
    // Connections that fell silent are noticed only when they have been so for too long.
    await clock.advance(SILENCE_MS);
    if (!(await recover(clock, life.program.runtime))) {
      problems.push(`did not come to rest: ${JSON.stringify(life.program.runtime.status())}`);
    }
  }
  problems.push(...(await writesAfterRest(clock, cluster, life)));
  const state = await stateOf(cluster, KINDS);
  faults.push(...life.transport.faults);
  life.clock.kill();
  await cluster.close();
  return { problems, state, crashes, faults: formatFaults(faults, start), writes: life.transport.writes };
}

function begin(
  cluster: TestCluster,
  clock: VirtualClock,
  random: SeededRandom,
  schedule: ReturnType<typeof randomSchedule>,
  record: RecordLife | undefined,
): Life {
  const mortal = mortalClock(clock);
  const transport = faultyTransport(cluster.transport(), { random: random.fork('faults'), clock: mortal, schedule });
  if (random.chance(0.5)) transport.crashAfterWrites(random.integer(1, 12));
  const program = startIncarnation({
    operators: OPERATORS,
    transport,
    clock: mortal,
    random: random.fork('program'),
    ...(record && { runtime: { record: record({ clock: mortal, operators: OPERATORS }) } }),
  });
  return { clock: mortal, transport, program };
}

/** A settled cluster sees no write: not in the next minutes, and not from a new process. */
async function writesAfterRest(clock: VirtualClock, cluster: TestCluster, life: Life): Promise<string[]> {
  const before = life.transport.writes;
  await clock.advance(10 * 60_000);
  const problems: string[] = [];
  if (life.transport.writes !== before)
    problems.push(`${life.transport.writes - before} writes after everything was at rest`);
  life.clock.kill();
  const transport = recordingTransport(cluster.transport());
  const successor = startIncarnation({ operators: OPERATORS, transport, clock, random: createRandom(1) });
  await recover(clock, successor.runtime);
  if (transport.writes.length > 0)
    problems.push(`a restart on the settled cluster wrote: ${transport.writes.join(', ')}`);
  await successor.stop();
  return problems;
}

/** The reference must itself be right: every Site has its Deployment with its own hash, every Fleet its ConfigMap. */
function unserved(state: State): string[] {
  const problems: string[] = [];
  for (const [id, site] of state) {
    const [kind, key] = id.split(' ');
    const { hash } = (site as { status?: { hash?: string } }).status ?? {};
    if (kind === kindId(Fleet) && !state.has(`ConfigMap ${key}-fleet`)) problems.push(`${id} has no ConfigMap`);
    if (kind !== kindId(Site)) continue;
    const created = state.get(`${kindId(Deployment)} ${key}`) as Deployment | undefined;
    const rolled = created?.spec?.template.metadata?.annotations?.['hash'];
    if (hash === undefined || rolled !== hash)
      problems.push(`${id} with the hash ${hash} has a Deployment with ${rolled}`);
  }
  return problems;
}
