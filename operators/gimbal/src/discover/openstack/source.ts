// A cloud as a source of the contract, by polling: three lists for all projects together, and the members of pools. Octavia has no list of
// all members. The members of a pool are read when anything about the pool or its load balancer looks different. In each cycle every fifth
// pool is read in any case, so a change that leaves no trace in the lists is seen after five cycles. A cycle counts as a whole or not at
// all, except for pools whose members are refused: the last known members of their load balancers stay, their projects are reported, and
// all others continue. A cycle that fails closes the source: the runtime keeps its rows as stale, and opens it again with back-off.
import { type Clock, keyOf, type Logger, reasonOf, sleep, validateDns1123Label } from '@capstan/kube/cluster';
import { type SourceDefinition, type SourceTable, source } from '@capstan/reconcile/contract';
import { DiscoverErrors, isCode } from '../errors.ts';
import { type NamespaceFilter, namespaceFilter } from '../mirror/namespaces.ts';
import type { Problem } from '../mirror/problem.ts';
import { discoveredName } from '../names/discovered-name.ts';
import type { CycleError } from '../report/metrics.ts';
import {
  type Listener,
  type LoadBalancer,
  listListeners,
  listLoadBalancers,
  listMembers,
  listPools,
  listProjects,
  type Member,
  type Pool,
} from './cloud.ts';
import type { Session } from './session.ts';

export interface CloudSourceOptions {
  /** Throws when the credentials cannot be used. */
  open(): Promise<Session>;
  backend: string;
  projects: NamespaceFilter;
  expectIdentity?: string | undefined;
  /** Between the beginnings of two cycles. */
  periodMs: number;
  /** Requests for members at a time; default 8. */
  parallel?: number;
  clock: Clock;
  logger: Logger;
  observe?: { cycled(seconds: number): void; cycleFailed(what: CycleError): void };
}

/** By the key that a load balancer has here, `namespace/name`; one more under WHOLE. */
export type CloudRow = BalancerRow | UnseenRow | WholeRow;

/** A load balancer with all that belongs to it. */
export interface BalancerRow {
  readonly row: 'balancer';
  readonly balancer: LoadBalancer;
  /** The project's name: the namespace here. */
  readonly project: string;
  readonly listeners: readonly Listener[];
  readonly pools: readonly Pool[];
  /** By pool. */
  readonly members: Readonly<Record<string, readonly Member[]>>;
}

/** A load balancer that is listed but not read since the start. Objects that an earlier process wrote for it stay. */
interface UnseenRow {
  readonly row: 'unseen';
}

/** Facts that concern no single load balancer. */
interface WholeRow {
  readonly row: 'whole';
  readonly identity: string | undefined;
  readonly problems: readonly Problem[];
}

/** No key of a load balancer looks like it. */
export const WHOLE = 'whole';

interface KnownMembers {
  readonly trace: string;
  readonly members: readonly Member[];
}

interface FoundMembers {
  readonly members: Map<string, KnownMembers>;
  /** Pools whose members the cloud does not list, and why. */
  readonly refused: ReadonlyMap<string, unknown>;
}

export function cloudSource(options: CloudSourceOptions): SourceDefinition<CloudRow> {
  const { backend, clock, observe, periodMs, parallel = 8 } = options;
  const isWatched = namespaceFilter(options.projects);
  // The state below outlasts an opening: a cloud that was away for a while need not be read completely again.
  let opened: Session | undefined;
  let rows = new Map<string, CloudRow>();
  let known = new Map<string, KnownMembers>();
  /** By id. Those that are not listed any more keep the name that they had: their namespace does not change with our rights. */
  const names = new Map<string, string>();
  let cycles = 0;

  async function check(session: Session, table: SourceTable<CloudRow>): Promise<void> {
    const part = async <T>(what: CycleError, work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (error) {
        observe?.cycleFailed(what);
        throw error;
      }
    };
    // The first request logs in; the others then have a token.
    const projects = await part('ListProjects', listProjects(session));
    const [balancers, allListeners, pools] = await Promise.all([
      part('ListLoadBalancers', listLoadBalancers(session)),
      part('ListLoadBalancers', listListeners(session)),
      part('ListPools', listPools(session)),
    ]);
    checkIdentity(session);
    for (const { id, name } of projects) names.set(id, name);
    const found = await part('ListPools', membersOf(session, pools, new Map(balancers.map((each) => [each.id, each]))));
    table.batch(() => take(session, table, { balancers, listeners: allListeners, pools, ...found }));
    table.complete();
  }

  function checkIdentity(session: Session): void {
    const { expectIdentity } = options;
    if (expectIdentity === undefined || session.cloud === undefined || session.cloud === expectIdentity) return;
    throw DiscoverErrors.WrongCloud(session.cloud, expectIdentity);
  }

  /** Takes the last known members of pools that look unchanged, except for every fifth. */
  async function membersOf(
    session: Session,
    pools: readonly Pool[],
    balancers: ReadonlyMap<string, LoadBalancer>,
  ): Promise<FoundMembers> {
    const result = new Map<string, KnownMembers>();
    const refused = new Map<string, Error>();
    const asked: { pool: Pool; trace: string }[] = [];
    for (const [index, pool] of pools.entries()) {
      const trace = JSON.stringify([
        pool,
        pool.balancerIds.map((id) => [balancers.get(id)?.updatedAt, balancers.get(id)?.operating]),
      ]);
      const before = known.get(pool.id);
      const isTurn = (index + cycles) % SWEEP === 0;
      if (before?.trace === trace && !isTurn) result.set(pool.id, before);
      else if (pool.memberIds.length === 0) result.set(pool.id, { trace, members: [] });
      else asked.push({ pool, trace });
    }
    const work = asked.values();
    await Promise.all(
      Array.from({ length: Math.min(parallel, asked.length) }, async () => {
        for (const { pool, trace } of work) {
          try {
            result.set(pool.id, { trace, members: await listMembers(session, pool.id) });
          } catch (error) {
            if (!isCode(error, 'Refused', 'BadAnswer')) throw error;
            // Deleted between two requests: the next cycle will not list it any more.
            if (!isCode(error, 'Refused') || !/ with 404/.test(error.message)) refused.set(pool.id, error);
          }
        }
      }),
    );
    const [first] = refused.values();
    // Nothing but refusals: that is no matter of a single project.
    if (first !== undefined && result.size === 0) throw first;
    for (const [id] of refused) {
      const before = known.get(id);
      if (before !== undefined) result.set(id, before);
    }
    return { members: result, refused };
  }

  function take(session: Session, table: SourceTable<CloudRow>, found: FoundCloud): void {
    const { pools, members, refused } = found;
    const withheld = new Map(
      pools.flatMap(({ id, balancerIds }) =>
        refused.has(id) ? balancerIds.map((balancer): [string, unknown] => [balancer, refused.get(id)]) : [],
      ),
    );
    const failing = new Map<string, unknown>();
    const poolsById = new Map(pools.map((pool) => [pool.id, pool]));
    const ofBalancer = new Map<string, Listener[]>();
    for (const listener of found.listeners) {
      for (const id of listener.balancerIds) ofBalancer.set(id, [...(ofBalancer.get(id) ?? []), listener]);
    }
    const next = new Map<string, CloudRow>();
    const unusable = new Map<string, number>();
    for (const balancer of found.balancers) {
      const project = names.get(balancer.projectId) ?? balancer.projectId;
      if (!isWatched(project)) continue;
      if (validateDns1123Label(project).length > 0) {
        unusable.set(project, (unusable.get(project) ?? 0) + 1);
        continue;
      }
      const key = keyOf({ namespace: project, name: discoveredName(backend, balancer.id.toLowerCase()) });
      if (withheld.has(balancer.id)) {
        if (!failing.has(project)) observe?.cycleFailed('ListPools');
        failing.set(project, failing.get(project) ?? withheld.get(balancer.id));
        next.set(key, rows.get(key) ?? UNSEEN);
        continue;
      }
      const listeners = ofBalancer.get(balancer.id) ?? [];
      const used = [...new Set(listeners.flatMap(({ poolId }) => poolId ?? []))].flatMap(
        (id) => poolsById.get(id) ?? [],
      );
      const own = Object.fromEntries(used.map(({ id }) => [id, members.get(id)?.members ?? []]));
      next.set(key, { row: 'balancer', balancer, project, listeners, pools: used, members: own });
    }
    const invalid = [...unusable].map(
      ([name, count]): Problem => ({
        type: 'InvalidNamespace',
        message: `the project ${JSON.stringify(name)} cannot be a namespace, so its ${count} load balancers are not brought here; rename it to lowercase letters, digits and hyphens`,
        name,
      }),
    );
    const unseen = [...failing].map(
      ([name, error]): Problem => ({
        type: 'RemoteError',
        message: `load balancers of the project ${name} cannot be read: ${reasonOf(error)}; what was discovered of them stays`,
        name,
      }),
    );
    next.set(WHOLE, { row: 'whole', identity: session.cloud, problems: [...invalid, ...unseen] });
    for (const key of rows.keys()) if (!next.has(key)) table.delete(key);
    for (const [key, row] of next) table.put(key, row);
    rows = next;
    known = members;
    cycles++;
  }

  return source<CloudRow>({
    name: 'cloud',
    backOff: BACK_OFF,
    timeoutMs: LONGEST_CYCLE_MS,
    async open({ table, signal }) {
      const session = (opened ??= await options.open());
      try {
        while (!signal.aborted) {
          const started = clock.now();
          await check(session, table);
          observe?.cycled((clock.now() - started) / 1000);
          const wait = Math.max(periodMs - (clock.now() - started), SHORTEST_WAIT_MS);
          await sleep(clock, wait, signal).catch(() => {});
        }
      } finally {
        if (signal.aborted) {
          opened = undefined;
          await session.close();
        }
      }
    },
  });
}

interface FoundCloud extends FoundMembers {
  readonly balancers: readonly LoadBalancer[];
  readonly listeners: readonly Listener[];
  readonly pools: readonly Pool[];
}

const UNSEEN: UnseenRow = { row: 'unseen' };
const SWEEP = 5;
const BACK_OFF = { firstMs: 5_000, longestMs: 300_000 };
/** A large cloud takes its time. */
const LONGEST_CYCLE_MS = 3_600_000;
const SHORTEST_WAIT_MS = 1_000;
