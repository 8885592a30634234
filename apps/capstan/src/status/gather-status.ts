// The state of all operators in a cluster: the active writers, the objects, and the unhealthy ones with their causes.
import { type Client, isForbidden, isNotFound, type KubeObject, keyOfObject, kindId } from '@capstan/kube/cluster';
import { type CauseState, rootCauses } from '@capstan/reconcile/status';
import type { Unserved } from '@capstan/sesame/served-classes';
import { absentObjects } from './absent-objects.ts';
import { type Health, healthOf, isInProgress, pending } from './health-of.ts';
import { type Leader, leaderOf } from './leader-of.ts';
import { dependencies } from './root-cause.ts';
import { type SimulatedPods, simulatedPods } from './simulated-pods.ts';
import type { StatusKind, StatusOperator } from './status-operators.ts';

/** The table shows this instead of a number where the cluster does not have the kind. */
export const NOT_INSTALLED = 'not installed';

export interface StatusReport {
  readonly healthy: boolean;
  /** Root causes first. */
  readonly problems: readonly Problem[];
  readonly operators: readonly Leader[];
  readonly kinds: readonly KindStatus[];
  /** Only of an embedded cluster. */
  readonly simulated?: SimulatedPods;
}

export interface Problem extends Health {
  /** `Kind.group`; `Operator` for an operator that does not run. */
  readonly kind: string;
  /** `namespace/name` */
  readonly object: string;
  /** `Kind namespace/name` of the unhealthy objects that it depends on; none for a root cause. */
  readonly dependsOn: readonly string[];
  /** `Kind namespace/name` of the unhealthy objects that depend on it, directly or through others. */
  readonly affects: readonly string[];
}

export interface KindStatus {
  readonly operator: string;
  /** `Kind.group` */
  readonly kind: string;
  /** Undefined when the kind cannot be read, and why. */
  readonly objects?: number;
  readonly problem?: string;
  readonly notReady: readonly (Health & { readonly object: string })[];
}

export interface GatherStatusOptions {
  client: Client;
  operators: readonly StatusOperator[];
  /** Undefined: all. */
  namespace: string | undefined;
  now: number;
  signal: AbortSignal;
}

export async function gatherStatus(options: GatherStatusOptions): Promise<StatusReport> {
  const { client, operators, namespace, now, signal } = options;
  const served = lazily(() => unservedProxies(client, now, signal));
  const [leaders, kinds, simulated] = await Promise.all([
    Promise.all(operators.map((operator) => leaderOf(client, operator, now, signal))),
    Promise.all(operators.flatMap((operator) => operator.kinds.map((kind) => listed(operator, kind, options, served)))),
    simulatedPods(client, namespace, signal),
  ]);
  const stopped = stoppedOperators(leaders, kinds);
  const problems = [...stopped, ...(await objectProblems(kinds, options))];
  return {
    healthy: problems.length === 0 && kinds.every(({ problem }) => problem === undefined),
    problems,
    operators: leaders,
    kinds: kinds.map(({ found, ...kind }) => ({
      ...kind,
      notReady: found.map(({ object, health }) => ({ object: keyOfObject(object), ...health })),
    })),
    ...(simulated && { simulated }),
  };
}

interface Found {
  readonly object: KubeObject;
  readonly health: Health;
}

interface Listed extends Omit<KindStatus, 'notReady'> {
  readonly found: readonly Found[];
}

async function listed(
  operator: StatusOperator,
  { kind, isSilent }: StatusKind,
  options: GatherStatusOptions,
  served: () => Promise<Unserved | undefined>,
): Promise<Listed> {
  const { client, namespace, signal } = options;
  const where = kind.scope === 'Namespaced' && namespace !== undefined ? { namespace } : {};
  const base = { operator: operator.name, kind: kindId(kind) };
  const found: Found[] = [];
  let objects = 0;
  try {
    for await (const page of client.pages(kind, { ...where, signal })) {
      objects += page.items.length;
      const unserved = base.kind === HTTP_PROXY && objects > 0 ? await served() : undefined;
      for (const object of page.items) {
        const reason = unserved?.(object);
        const health = reason === undefined ? healthOf(object, isSilent && unserved === undefined) : pending(reason);
        if (health.state !== 'Ready') found.push({ object, health });
      }
    }
  } catch (error) {
    // One kind that cannot be read must not hide the others.
    if (isNotFound(error)) return { ...base, problem: NOT_INSTALLED, found };
    if (isForbidden(error)) return { ...base, problem: 'you may not list it', found };
    throw error;
  }
  return { ...base, objects, found };
}

const HTTP_PROXY = 'HTTPProxy.projectsesame.io';

/** Undefined where it cannot be found out: the status of the objects alone counts then. */
async function unservedProxies(client: Client, now: number, signal: AbortSignal): Promise<Unserved | undefined> {
  const { findUnserved } = await import('@capstan/sesame/served-classes');
  try {
    return await findUnserved(client, now, signal);
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined;
    throw error;
  }
}

function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/** An operator that does not run is the cause of everything that waits for it. */
function stoppedOperators(leaders: readonly Leader[], kinds: readonly Listed[]): Problem[] {
  return leaders.flatMap(({ operator, holder, summary, isKnown }) => {
    const own = kinds.filter((kind) => kind.operator === operator);
    const objects = own.reduce((sum, kind) => sum + (kind.objects ?? 0), 0);
    if (holder !== undefined || !isKnown || objects === 0) return [];
    const waiting = own.flatMap(({ kind, found }) =>
      found.filter(({ health }) => health.state === 'Pending').map(({ object }) => shortName(kind, object)),
    );
    return [
      {
        kind: 'Operator',
        object: operator,
        state: 'Stopped' as const,
        reason: 'NoLeader',
        message: `${summary.replace(/^none: /, '')}; start it with capstan run or capstan install`,
        dependsOn: [],
        affects: waiting,
      },
    ];
  });
}

async function objectProblems(
  kinds: readonly Listed[],
  { client, operators, signal }: GatherStatusOptions,
): Promise<readonly Problem[]> {
  const all = kinds.flatMap(({ kind, found }) =>
    found.map(({ object, health }) => ({ id: kind, kind: plainKind(kind), object, health, message: health.message })),
  );
  const own = operators.flatMap((operator) => operator.kinds.map(({ kind }) => kind));
  const absent = await absentObjects(client, all, own, signal);
  const evidence = dependencies(all);
  const problems: readonly Omit<Problem, 'dependsOn' | 'affects'>[] = [
    ...all.map(({ id, object, health }) => ({ kind: id, object: keyOfObject(object), ...health })),
    ...absent.map(({ kind, object, namedBy }) => ({
      kind,
      object,
      ...absentHealth(namedBy.flatMap((at) => all[at] ?? [])),
    })),
  ];
  const missing = new Map<number, number[]>();
  for (const [at, { namedBy }] of absent.entries())
    for (const index of namedBy) missing.set(index, [...(missing.get(index) ?? []), all.length + at]);
  const dependsOn = (index: number) => [...(evidence[index] ?? []), ...(missing.get(index) ?? [])];
  const { roots, causesOf } = rootCauses({
    problems: problems.keys().map(String),
    stateOf: (id) => stateOfProblem(problems[Number(id)]),
    dependsOn: (id) => dependsOn(Number(id)).map(String),
  });
  const nameAt = (id: string) => {
    const one = problems[Number(id)];
    return one === undefined ? [] : [`${plainKind(one.kind)} ${one.object}`];
  };
  const readers = new Map<number, number[]>();
  for (const index of problems.keys()) {
    for (const cause of dependsOn(index)) {
      const known = readers.get(cause);
      if (known === undefined) readers.set(cause, [index]);
      else known.push(index);
    }
  }
  const affects = new Map(roots.map((root) => [root.id, root.affects]));
  const ordered = new Set([...roots.map(({ id }) => id), ...problems.keys().map(String)]);
  return [...ordered].flatMap((id) => {
    const one = problems[Number(id)];
    if (one === undefined) return [];
    const isRoot = affects.has(id);
    return [
      {
        ...one,
        dependsOn: isRoot ? [] : causesOf(id).flatMap(nameAt),
        affects: (affects.get(id) ?? affectedBy(id, readers)).flatMap(nameAt),
      },
    ];
  });
}

function stateOfProblem(problem: Health | undefined): CauseState {
  if (problem === undefined) return undefined;
  if (problem.state === 'Absent') return 'absent';
  return isInProgress(problem) ? 'progress' : 'broken';
}

/** Problems that depend on one that is no root itself. */
function affectedBy(id: string, readers: ReadonlyMap<number, readonly number[]>): readonly string[] {
  const found = new Set([Number(id)]);
  for (const cause of found) for (const reader of readers.get(cause) ?? []) found.add(reader);
  found.delete(Number(id));
  return [...found].toSorted((a, b) => a - b).map(String);
}

/** As the first object that names it reports it. */
function absentHealth(namedBy: readonly { readonly health: Health }[]): Health {
  const since = namedBy.flatMap(({ health }) => health.since ?? []).toSorted()[0];
  return { state: 'Absent', reason: 'NotFound', message: 'it does not exist; create it', ...(since && { since }) };
}

function shortName(kind: string, object: KubeObject): string {
  return `${plainKind(kind)} ${keyOfObject(object)}`;
}

/** `Kind.group` without its group. */
export function plainKind(kind: string): string {
  return kind.split('.')[0] ?? kind;
}
