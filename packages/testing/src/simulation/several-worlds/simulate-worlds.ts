// One simulated history over several clusters: people change things in any of them, clusters go away and come back, or are
// removed and added again; requests and watches fail, leases are lost, the process dies between any two writes. In the end,
// with everything healthy, every cluster must be in the state that is reached without faults; nothing may be written any more,
// also after a restart; and no child that was wanted all along may have been deleted meanwhile.
import { type ApiRequest, type Client, createClient, type Kind, silentLogger, type Transport } from '@capstan/kube';
import type { Leadership, Operator, Role } from '@capstan/reconcile';
import { createTestCluster, type TestCluster } from '../../cluster.ts';
import { formatFaults } from '../../faults/fault-log.ts';
import { type FaultSchedule, randomSchedule } from '../../faults/fault-schedule.ts';
import { type FaultyTransport, faultyTransport } from '../../faults/faulty-transport.ts';
import { mortalClock } from '../../faults/mortal-clock.ts';
import { type SeverableTransport, severableTransport } from '../../faults/severable-transport.ts';
import { type Incarnation, startIncarnation } from '../../incarnation.ts';
import { createRandom, type SeededRandom } from '../../random.ts';
import { createTestLease, type TestLease } from '../../test-lease.ts';
import { createVirtualClock, type VirtualClock } from '../../virtual-clock.ts';
import { differences, type State, stateOf } from '../cluster-state.ts';
import { recover, SILENCE_MS } from '../recovery.ts';

/** The subject of a simulation: operators, their clusters, and the actions of users there. */
export interface WorldsSubject {
  readonly operators: readonly Operator[];
  /** Clusters beside the local one, whose name is empty. */
  readonly worlds: readonly SimulatedWorld[];
  /** The operators' own namespace in the local cluster; `default` by default. */
  readonly namespace?: string;
  /** The kinds that are compared at the end, in each cluster. */
  kinds(world: string): readonly Kind[];
  /** Annotations and labels that depend on identities, times or the order of events, and are not compared. None by default. */
  readonly volatile?: readonly string[];
  /** Everything comes to rest between acts. */
  script(random: SeededRandom): readonly WorldsAct[];
  /** Returns the problems of the state that is reached without faults: the reference must itself be right. */
  unserved?(states: ReadonlyMap<string, State>): readonly string[];
}

export interface SimulatedWorld {
  readonly name: string;
  readonly role: Role;
  /** The operators' own namespace in it. */
  readonly namespace?: string;
}

export interface WorldsAct {
  readonly moves: readonly WorldsMove[];
  /**
   * Whether clusters may be removed and added again during the act. An owner that is deleted while a cluster is removed leaves
   * its children there, as it should: acts with such moves say no.
   */
  readonly mayRemove: boolean;
}

export interface WorldsMove {
  /** The name of the action, for failure reports. */
  readonly name: string;
  /** Time that passes before. */
  readonly afterMs: number;
  /** Clients by cluster, without faults. */
  act(clients: ReadonlyMap<string, Client>): Promise<unknown>;
  /** Children that are wanted from now on, as `cluster path`. The program may not delete a child that is wanted during a whole act. */
  readonly wanted: ReadonlySet<string>;
}

export interface WorldsReport {
  readonly problems: readonly string[];
  /** Moves of people and of clusters in the history with faults. */
  readonly story: readonly string[];
  readonly faults: string;
  readonly crashes: number;
  /** How often a cluster went away or was removed. */
  readonly absences: number;
  readonly lostLeases: number;
}

export async function simulateWorlds(subject: WorldsSubject, seed: number): Promise<WorldsReport> {
  const acts = subject.script(createRandom(seed).fork('script'));
  const calm = await calmHistory(subject, acts, seed);
  const stormy = await stormyHistory(subject, acts, seed);
  const problems = [...(subject.unserved?.(calm) ?? []), ...stormy.problems];
  for (const [world, expected] of calm) {
    const found = differences(expected, stormy.states.get(world) ?? new Map<string, unknown>());
    problems.push(...found.map((problem) => `${world || 'local'}: ${problem}`));
  }
  return { ...stormy, problems };
}

const LOCAL = '';

async function createClusters({ operators, worlds }: WorldsSubject, clock: VirtualClock, seed: number) {
  const clusters = new Map<string, TestCluster>();
  for (const name of [LOCAL, ...worlds.map((world) => world.name)]) {
    // The same seed for the same cluster: its identity, which children carry, is the same in both histories.
    const random = createRandom(seed).fork(`cluster ${name}`);
    clusters.set(name, await createTestCluster({ clock, random, operators }));
  }
  const clients = new Map([...clusters].map(([name, { client }]) => [name, client]));
  return { clusters, clients };
}

async function calmHistory(subject: WorldsSubject, acts: readonly WorldsAct[], seed: number) {
  const clock = createVirtualClock();
  const { clusters, clients } = await createClusters(subject, clock, seed);
  const transports = new Map([...clusters].map(([name, cluster]) => [name, cluster.transport()]));
  const program = start(subject, { clock, transports, random: createRandom(seed) });
  for (const act of acts) {
    for (const move of act.moves) {
      await clock.advance(move.afterMs);
      await move.act(clients);
    }
    await recover(clock, program.runtime, clusters.size);
  }
  const states = await statesOf(subject, clusters);
  await program.stop();
  for (const cluster of clusters.values()) await cluster.close();
  return states;
}

interface StartOptions {
  readonly clock: VirtualClock | ReturnType<typeof mortalClock>;
  readonly transports: ReadonlyMap<string, Transport>;
  readonly random: SeededRandom;
  readonly leadership?: Leadership;
  /** How long after the start a cluster is added; at once by default. */
  addedAfterMs?(world: string): number;
  /** Clusters that are not there; none by default. */
  readonly absent?: ReadonlySet<string>;
}

/** A program in all its clusters, which are known to be all when the last has been added. */
function start(subject: WorldsSubject, options: StartOptions): Incarnation {
  const { clock, transports, random, leadership, absent } = options;
  const program = startIncarnation({
    operators: subject.operators,
    transport: transportOf(transports, LOCAL),
    clock,
    random,
    ...(subject.namespace !== undefined && { world: { namespace: subject.namespace } }),
    ...(leadership && { runtime: { leadership: () => leadership } }),
  });
  let latest = 0;
  for (const world of subject.worlds) {
    const afterMs = options.addedAfterMs?.(world.name) ?? 0;
    latest = Math.max(latest, afterMs);
    const add = () => {
      if (!absent?.has(world.name)) addWorld(program, world, { clock, transports, random });
    };
    if (afterMs === 0) add();
    else clock.after(afterMs, add);
  }
  const complete = () => {
    for (const { role } of subject.worlds) program.runtime.completeWorlds(role);
  };
  if (latest === 0) complete();
  else clock.after(latest, complete);
  return program;
}

function addWorld(
  { runtime }: Incarnation,
  world: SimulatedWorld,
  { clock, transports, random }: Pick<StartOptions, 'clock' | 'transports' | 'random'>,
): void {
  if (runtime.worlds.has(world.name)) return;
  const transport = transportOf(transports, world.name);
  runtime.addWorld({ ...world, client: createClient({ transport, clock, random, logger: silentLogger }) });
}

function transportOf(transports: ReadonlyMap<string, Transport>, world: string): Transport {
  const found = transports.get(world);
  if (found === undefined) throw new TypeError(`there is no cluster named ${world}`);
  return found;
}

/** A process, with the state that dies with it. */
interface Life {
  readonly clock: ReturnType<typeof mortalClock>;
  readonly faulty: ReadonlyMap<string, FaultyTransport>;
  readonly transports: ReadonlyMap<string, Transport>;
  readonly random: SeededRandom;
  readonly program: Incarnation;
  readonly lease: TestLease;
  readonly isDead: () => boolean;
  /** Writes that reached a server. */
  readonly writes: () => number;
}

async function stormyHistory(subject: WorldsSubject, acts: readonly WorldsAct[], seed: number) {
  const clock = createVirtualClock();
  const random = createRandom(seed).fork('storm');
  const begunAt = clock.now();
  const { clusters, clients } = await createClusters(subject, clock, seed);
  const links = new Map([...clusters].map(([name, cluster]) => [name, severableTransport(cluster.transport())]));
  const schedule = randomSchedule(random.fork('schedule'));
  const story: string[] = [];
  const problems: string[] = [];
  const faults: FaultyTransport['faults'][number][] = [];
  const absent = new Set<string>();
  const counts = { crashes: 0, absences: 0, lostLeases: 0 };
  /** Children that have been wanted since the act began. */
  let wanted = new Set<string>();
  const onWrite = (life: TestLease, world: string, { method, path }: ApiRequest) => {
    const line = `${method} ${world || 'local'} ${path}`;
    if (!life.holds) problems.push(`${line} was sent without the lease`);
    if (method === 'DELETE' && wanted.has(`${world} ${path}`)) problems.push(`${line}: it was desired all the time`);
  };
  const begin = (isCalm: boolean) =>
    beginLife(
      subject,
      { clock, links, absent, onWrite, schedule: isCalm ? {} : schedule, isCalm },
      random.fork(`life ${counts.crashes}`),
    );
  let life = begin(false);
  /** Kills the process: nothing of it continues, and its successor finds its remains. */
  const restart = (isCalm: boolean) => {
    story.push('-- crash');
    counts.crashes++;
    endLife(life, faults);
    life = begin(isCalm);
  };

  for (const { moves, mayRemove } of acts) {
    for (const move of moves) {
      await clock.advance(move.afterMs);
      if (life.isDead() || random.chance(0.1)) restart(false);
      await disturb(mayRemove);
      story.push(move.name);
      // Update the set before the act: a child may be deleted as soon as users no longer want it.
      wanted = intersection(wanted, move.wanted);
      await move.act(clients);
    }
    await clock.advance(random.integer(0, 20_000));
    if (life.isDead()) restart(true);
    await calmDown();
    if (!(await recover(clock, life.program.runtime, clusters.size)))
      problems.push(`did not come to rest: ${JSON.stringify(life.program.runtime.status())}`);
    wanted = new Set(moves.at(-1)?.wanted);
  }

  /** Clusters come and go, and so does the lease. */
  async function disturb(mayRemove: boolean): Promise<void> {
    if (random.chance(0.4)) {
      const [name, link] = random.pick([...links]);
      story.push(`-- ${name || 'local'} ${link.isSevered ? 'is back' : 'goes away'}`);
      if (link.isSevered) link.restore();
      else {
        counts.absences++;
        link.sever();
      }
    }
    if (mayRemove && random.chance(0.4)) {
      const world = random.pick(subject.worlds);
      story.push(`-- ${world.name} is ${absent.has(world.name) ? 'added' : 'removed'}`);
      if (absent.delete(world.name)) addWorld(life.program, world, life);
      else {
        counts.absences++;
        absent.add(world.name);
        // Do not await it: requests to a cluster that does not answer end with their time-out.
        void life.program.runtime.removeWorld(world.name);
      }
    }
    if (random.chance(0.15)) {
      story.push(`-- the lease is ${life.lease.holds ? 'lost' : 'gained'}`);
      if (life.lease.holds) counts.lostLeases++;
      life.lease.set(!life.lease.holds);
    }
    if (random.chance(0.15)) {
      const { server } = random.pick([...clusters.values()]);
      server.compact(random.integer(1, server.revision));
    }
    await clock.settle();
  }

  /** Everything is healthy from here on. */
  async function calmDown(): Promise<void> {
    story.push('-- everything is healthy');
    for (const link of links.values()) link.restore();
    for (const transport of life.faulty.values()) {
      transport.heal();
      transport.crashAfterWrites(Number.POSITIVE_INFINITY);
    }
    life.lease.set(true);
    // Connections that fell silent are noticed only when they have been so for too long.
    await clock.advance(SILENCE_MS);
    for (const world of subject.worlds) if (absent.delete(world.name)) addWorld(life.program, world, life);
  }

  problems.push(...(await writesAfterRest(life)));
  const states = await statesOf(subject, clusters);
  endLife(life, faults);
  for (const cluster of clusters.values()) await cluster.close();
  return { problems, states, story, faults: formatFaults(faults, begunAt), ...counts };

  /** A settled cluster sees no write: not in the next minutes, and not from a new process. */
  async function writesAfterRest(last: Life): Promise<string[]> {
    const before = last.writes();
    await clock.advance(10 * 60_000);
    const found: string[] = [];
    const more = last.writes() - before;
    if (more > 0) found.push(`${more} writes after everything was at rest`);
    last.clock.kill();
    const written: string[] = [];
    const transports = observed(links, (world, { method, path }) =>
      written.push(`${method} ${world || 'local'} ${path}`),
    );
    const successor = start(subject, { clock, transports, random: createRandom(1) });
    await recover(clock, successor.runtime, clusters.size);
    if (written.length > 0) found.push(`a restart on settled clusters wrote: ${written.join(', ')}`);
    await successor.stop();
    return found;
  }
}

interface LifeOptions {
  readonly clock: VirtualClock;
  readonly links: ReadonlyMap<string, SeverableTransport>;
  readonly absent: ReadonlySet<string>;
  readonly schedule: FaultSchedule;
  /** It does not die by itself. */
  readonly isCalm: boolean;
  onWrite(lease: TestLease, world: string, request: ApiRequest): void;
}

function beginLife(subject: WorldsSubject, options: LifeOptions, random: SeededRandom): Life {
  const clock = mortalClock(options.clock);
  const lease = createTestLease();
  const faulty = new Map(
    [...options.links].map(([name, link]) => {
      const own = random.fork(`faults ${name}`);
      return [name, faultyTransport(link, { random: own, clock, schedule: options.schedule })] as const;
    }),
  );
  // One process: when it dies in one cluster, it is dead in all.
  for (const one of faulty.values())
    void one.died.then(() => {
      for (const other of faulty.values()) other.crashAfterWrites(0);
    });
  if (!options.isCalm && random.chance(0.5)) random.pick([...faulty.values()]).crashAfterWrites(random.integer(1, 8));
  const transports = observed(faulty, (world, request) => options.onWrite(lease, world, request));
  const program = start(subject, {
    clock,
    transports,
    random: random.fork('program'),
    leadership: lease.leadership,
    absent: options.absent,
    addedAfterMs: () => (options.isCalm ? 0 : random.pick([0, 0, 10, 3000])),
  });
  return {
    clock,
    faulty,
    transports,
    random,
    program,
    lease,
    isDead: () => [...faulty.values()].some(({ dead }) => dead),
    writes: () => [...faulty.values()].reduce((sum, { writes }) => sum + writes, 0),
  };
}

function endLife(life: Life, faults: FaultyTransport['faults'][number][]): void {
  life.clock.kill();
  for (const transport of life.faulty.values()) {
    transport.crashAfterWrites(0);
    faults.push(...transport.faults);
  }
}

/** Calls back for every write that leaves the process. */
function observed(
  inner: ReadonlyMap<string, Transport>,
  onWrite: (world: string, request: ApiRequest) => void,
): ReadonlyMap<string, Transport> {
  return new Map(
    [...inner].map(([world, transport]): [string, Transport] => [
      world,
      {
        address: transport.address,
        request(request) {
          if (request.method !== 'GET' && request.query?.dryRun === undefined) onWrite(world, request);
          return transport.request(request);
        },
        watch: (request) => transport.watch(request),
        close: () => transport.close(),
      },
    ]),
  );
}

async function statesOf(subject: WorldsSubject, clusters: ReadonlyMap<string, TestCluster>) {
  const states = new Map<string, State>();
  for (const [name, cluster] of clusters)
    states.set(name, await stateOf(cluster, subject.kinds(name), subject.volatile));
  return states;
}

function intersection(left: ReadonlySet<string>, right: ReadonlySet<string>): Set<string> {
  return new Set([...left].filter((each) => right.has(each)));
}
