// A cloud as a source, by polling: three lists for all projects together, and the members of pools. Octavia has no list of all
// members, so those of a pool are asked for when anything about the pool or its load balancer looks different, and of every
// fifth pool in each cycle whatever it looks like: a change that leaves no trace in the lists is seen after five cycles.
// A cycle counts as a whole or not at all, but for pools whose members are refused: what is known of their load balancers stays,
// their projects are reported, and all others go on.
import { backOff, type Clock, keyOf, type Logger, reasonOf, sleep, validateDns1123Label } from '@capstan/kube/cluster';
import { isCode } from '../errors.ts';
import { ABSENT, type Finding } from '../mirror/mirror.ts';
import { type NamespaceFilter, namespaceFilter } from '../mirror/namespaces.ts';
import type { Problem } from '../mirror/problem.ts';
import { managedDigest } from '../mirror/projection.ts';
import { discoveredName } from '../names/discovered-name.ts';
import type { CycleError } from '../report/metrics.ts';
import { createListeners, type Source } from '../sync/source.ts';
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
import { mapLoadBalancer } from './map-load-balancer.ts';
import type { Session } from './session.ts';

export interface CloudSourceOptions {
  session: Session;
  backend: string;
  projects: NamespaceFilter;
  writeEndpoints: boolean;
  expectIdentity?: string | undefined;
  /** Between the beginnings of two cycles. */
  periodMs: number;
  /** Requests for members at a time; default 8. */
  parallel?: number;
  clock: Clock;
  logger: Logger;
  observe?: { cycled(seconds: number): void; cycleFailed(what: CycleError): void };
}

interface Entry {
  readonly finding: Finding;
  readonly digest: string;
}

interface KnownMembers {
  readonly trace: string;
  readonly members: readonly Member[];
}

interface FoundMembers {
  readonly members: Map<string, KnownMembers>;
  /** Pools whose members the cloud does not list, and why. */
  readonly refused: ReadonlyMap<string, unknown>;
}

export function createCloudSource(options: CloudSourceOptions): Source {
  const { session, backend, clock, logger, observe, periodMs, parallel = 8 } = options;
  const listeners = createListeners();
  const isWatched = namespaceFilter(options.projects);
  let entries = new Map<string, Entry>();
  let known = new Map<string, KnownMembers>();
  /** By id. Those that are not listed any more keep the name that they had: their namespace does not change with our rights. */
  const names = new Map<string, string>();
  let general: readonly Problem[] = [];
  let failure: Problem | undefined;
  let isSynced = false;
  let cycles = 0;

  async function check(): Promise<void> {
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
    checkIdentity();
    for (const { id, name } of projects) names.set(id, name);
    const found = await part('ListPools', membersOf(pools, new Map(balancers.map((each) => [each.id, each]))));
    take(balancers, allListeners, pools, found);
  }

  function checkIdentity(): void {
    const { expectIdentity } = options;
    if (expectIdentity === undefined || session.cloud === undefined || session.cloud === expectIdentity) return;
    throw new WrongCloud(
      `the credentials lead to another cloud (${session.cloud}) than before (${expectIdentity}): nothing is changed; correct the Secret, or delete and recreate the backend`,
    );
  }

  /** Of pools that look as before what is known is taken, but for every fifth. */
  async function membersOf(
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

  function take(
    balancers: readonly LoadBalancer[],
    allListeners: readonly Listener[],
    pools: readonly Pool[],
    { members, refused }: FoundMembers,
  ): void {
    const withheld = new Map(
      pools.flatMap(({ id, balancerIds }) =>
        refused.has(id) ? balancerIds.map((balancer): [string, unknown] => [balancer, refused.get(id)]) : [],
      ),
    );
    const failing = new Map<string, unknown>();
    const poolsById = new Map(pools.map((pool) => [pool.id, pool]));
    const membersByPool = new Map([...members].map(([id, { members: some }]) => [id, some]));
    const ofBalancer = new Map<string, Listener[]>();
    for (const listener of allListeners) {
      for (const id of listener.balancerIds) ofBalancer.set(id, [...(ofBalancer.get(id) ?? []), listener]);
    }
    const next = new Map<string, Entry>();
    const unusable = new Map<string, number>();
    for (const balancer of balancers) {
      const project = names.get(balancer.projectId) ?? balancer.projectId;
      if (!isWatched(project)) continue;
      if (validateDns1123Label(project).length > 0) {
        unusable.set(project, (unusable.get(project) ?? 0) + 1);
        continue;
      }
      const key = keyOf({ namespace: project, name: discoveredName(backend, balancer.id.toLowerCase()) });
      if (withheld.has(balancer.id)) {
        observeProject(project, withheld.get(balancer.id));
        next.set(key, entries.get(key) ?? UNSEEN);
        continue;
      }
      const remote = {
        balancer,
        project,
        listeners: ofBalancer.get(balancer.id) ?? [],
        pools: poolsById,
        members: membersByPool,
      };
      const finding = mapLoadBalancer(remote, backend, options.writeEndpoints);
      if (finding.state !== 'absent') next.set(key, { finding, digest: digestOf(finding) });
    }
    const changed = new Set<string>();
    for (const key of new Set([...next.keys(), ...entries.keys()])) {
      const [before, after] = [entries.get(key), next.get(key)];
      if (before?.digest === after?.digest && before !== undefined) next.set(key, before);
      else changed.add(key);
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
    general = [...invalid, ...unseen];
    entries = next;
    known = members;
    cycles++;
    isSynced = true;
    failure = undefined;
    listeners.changed(changed);
    listeners.state();
    listeners.cycle();

    function observeProject(project: string, error: unknown): void {
      if (!failing.has(project)) observe?.cycleFailed('ListPools');
      failing.set(project, failing.get(project) ?? error);
    }
  }

  return {
    get isSynced() {
      return isSynced;
    },
    get isLive() {
      return isSynced && failure === undefined;
    },
    get failure() {
      return failure;
    },
    get identity() {
      return session.cloud;
    },
    keys: () => entries.keys(),
    find: (key) => entries.get(key)?.finding ?? ABSENT,
    problems: () => general,
    subscribe: (listener) => listeners.add(listener),
    async run(signal) {
      let failures = 0;
      while (!signal.aborted) {
        const started = clock.now();
        let wait = periodMs;
        try {
          await check();
          failures = 0;
          observe?.cycled((clock.now() - started) / 1000);
        } catch (error) {
          if (signal.aborted) break;
          failure = problemOf(error);
          logger.warn('the cloud could not be read; what was discovered is kept', { error: reasonOf(error) });
          failures++;
          wait = backOff(failures, BACK_OFF);
          listeners.state();
        }
        await sleep(clock, Math.max(wait - (clock.now() - started), SHORTEST_WAIT_MS), signal).catch(() => {});
      }
      await session.close();
    },
  };
}

/** Listed, and not looked at since the start: what a process before brought here stays. */
const UNSEEN: Entry = {
  finding: { state: 'invalid', keep: true, upstreamEndpoints: 0, problems: [] },
  digest: 'unseen',
};

const SWEEP = 5;
const BACK_OFF = { firstMs: 5_000, longestMs: 300_000 };
const SHORTEST_WAIT_MS = 1_000;

class WrongCloud extends Error {}

function problemOf(error: unknown): Problem {
  const message = reasonOf(error);
  if (error instanceof WrongCloud) return { type: 'WrongCluster', message };
  if (isCode(error, 'AuthRefused', 'Refused')) return { type: 'AuthFailed', message };
  return { type: 'Unreachable', message: `${message}; what was discovered stays` };
}

function digestOf(finding: Finding): string {
  if (finding.state !== 'present') return JSON.stringify(finding);
  const { service, slices, endpoints } = finding.mirror;
  const objects = [service, ...slices, ...(endpoints === undefined ? [] : [endpoints])];
  return JSON.stringify([
    objects.map((each) => [each.metadata.name, managedDigest(each)]),
    finding.problems,
    finding.upstreamEndpoints,
  ]);
}
