// The plan of a reconciler. A plan is plain data: two plans are compared by value, shown by `capstan plan`, and carried out by apply/.
// Nothing in it performs anything.
import { type KubeObject, keyOf, kindId } from '@capstan/kube/cluster';
import { DefinitionErrors, PlanErrors } from '../errors.ts';
import { checkPlain, isPromise } from '../guard.ts';
import type { Child } from './child.ts';
import type { ConditionInput } from './conditions.ts';
import type { Patch, Removal } from './others.ts';
import { placeOf } from './place.ts';
import type { StatusInput } from './status.ts';

/** The desired state. Created by plan() and released(). */
export interface Plan {
  readonly outcome: 'desired' | 'released';
  /** Whether our finalizer belongs on the object; undefined lets the runtime decide (see Held below). */
  readonly held: boolean | undefined;
  readonly groups: readonly Group[];
  /** Whether children and patches that the plan does not mention are removed and given back. */
  readonly prune: boolean;
  readonly status: StatusInput | undefined;
  /** Status fields that move often (counts, percentages): written at most once a second, first and last value always. */
  readonly progress: StatusInput | undefined;
  readonly conditions: readonly ConditionInput[];
  /** Remembered in `status.memory`, given back at the next run; needs a kind that declares its memory. */
  readonly memory: unknown;
  readonly events: readonly EventInput[];
  /** Events that wait for no write: each is created once while the plan has it, and again after a restart. None by default. */
  readonly alerts?: readonly EventInput[];
}

/**
 * Children, patches and removals that go out together. Groups go out in order: the next one only when every write of the
 * one before is done and its gate is open.
 */
export interface Group {
  readonly name: string;
  readonly children: readonly Child[];
  readonly patches: readonly Patch[];
  readonly removals: readonly Removal[];
  /** Wait until the wanted writes of this group have not changed for so long; 0 by default. */
  readonly quietMs: number;
  /**
   * The quiet period counts before something is created as well; by default creations disturb nothing and need not wait. For
   * workloads whose inputs arrive one after the other: pods that start with half of them are rolled at once.
   */
  readonly quietAtCreation: boolean;
  /** Ask the server by dry run whether it would take every write of the group, before the first is sent; off by default. */
  readonly preflight: boolean;
  /** A closed gate holds back this group and all after it; open by default. */
  readonly open: boolean;
  /** For a closed gate: the event that it waits for, in words that fit a status. */
  readonly waitingFor: string | undefined;
}

export interface GroupInput {
  name?: string;
  children?: readonly Child[];
  patches?: readonly Patch[];
  removals?: readonly Removal[];
  quietMs?: number;
  quietAtCreation?: boolean;
  preflight?: boolean;
  open?: boolean;
  waitingFor?: string;
}

export interface EventInput {
  type?: 'Normal' | 'Warning';
  /** One word in CamelCase. */
  reason: string;
  note: string;
  /** The action, in CamelCase; the reason by default. */
  action?: string;
  related?: KubeObject;
  /** Identifies the occurrence: one Event is written for it, whichever process reports it and however often. None by default. */
  id?: string;
}

export interface PlanInput extends GroupInput {
  /** Whether our finalizer belongs on the object. By default it does when the reconciler has `release`, or when the plan has children that owner references cannot reach. */
  held?: boolean;
  /** Instead of children, patches and removals directly: several groups in order. */
  groups?: readonly GroupInput[];
  /** False: existing children that the plan does not mention stay, for plans created from invalid or incomplete input. True by default. */
  prune?: boolean;
  status?: StatusInput;
  progress?: StatusInput;
  conditions?: readonly ConditionInput[];
  memory?: unknown;
  events?: readonly EventInput[];
  /** For objects that nothing is written to (kinds of others): Events that wait for no write. */
  alerts?: readonly EventInput[];
}

/** One for all: there is a plan for every object. */
const NONE: readonly never[] = [];

/**
 * Creates a plan from the desired state. Throws when it names a child twice (the two would overwrite each other for ever) or holds a
 * promise.
 */
export function plan(input: PlanInput = {}): Plan {
  const { children, patches, removals } = input;
  const direct = (children ?? patches ?? removals) === undefined ? NONE : [group(input)];
  const groups = input.groups === undefined ? direct : [...direct, ...input.groups.map(group)];
  checkNamedOnce(groups);
  checkNoPromise(input);
  return {
    outcome: 'desired',
    held: input.held,
    groups,
    prune: input.prune ?? true,
    status: input.status,
    progress: input.progress,
    conditions: input.conditions ?? NONE,
    memory: input.memory,
    events: input.events ?? NONE,
    ...(input.alerts && { alerts: input.alerts }),
  };
}

/** Declares that no work is left for an object that is being deleted: children go, the finalizer after them. */
export function released(input: Pick<PlanInput, 'status' | 'conditions' | 'events'> = {}): Plan {
  return { ...plan(input), outcome: 'released', held: false };
}

function group(input: GroupInput, index = 0): Group {
  return {
    name: input.name ?? `group ${index + 1}`,
    children: entries('children', input.children),
    patches: entries('patches', input.patches),
    removals: entries('removals', input.removals),
    quietMs: input.quietMs ?? 0,
    quietAtCreation: input.quietAtCreation ?? false,
    preflight: input.preflight ?? false,
    open: input.open ?? true,
    waitingFor: input.waitingFor,
  };
}

/** Types end where plain JavaScript, a cast or a forgotten await begins. */
function entries<T extends { kind: unknown }>(list: string, given: readonly T[] = NONE): readonly T[] {
  for (const [at, entry] of (given as readonly unknown[]).entries()) {
    if (isPromise(entry)) throw PlanErrors.NotAnEntry(list, at, 'a promise');
    if (typeof entry !== 'object' || entry === null || !('kind' in entry))
      throw PlanErrors.NotAnEntry(list, at, entry === undefined || entry === null ? 'nothing' : 'something unknown');
  }
  return given;
}

function checkNoPromise({ status, progress, memory, conditions }: PlanInput): void {
  const parts: readonly (readonly [string, unknown])[] = [
    ['status', status],
    ...Object.entries(status ?? {}).map(([name, value]) => [`status.${name}`, value] as const),
    ...Object.entries(progress ?? {}).map(([name, value]) => [`progress.${name}`, value] as const),
    ['memory', memory],
    ...(conditions ?? []).map((condition, at) => [`conditions[${at}]`, condition] as const),
  ];
  for (const [field, value] of parts) if (isPromise(value)) throw PlanErrors.PromiseIn(field);
  // Before anything walks through the plan: comparing or freezing such a value would not end.
  for (const [field, value] of [
    ['status', status],
    ['progress', progress],
    ['memory', memory],
  ] as const)
    if (value !== undefined) checkPlain(`the plan's ${field}`, value);
  for (const { type, details } of conditions ?? [])
    if (details !== undefined) checkPlain(`the condition ${type}`, details);
}

function checkNamedOnce(groups: readonly Group[]): void {
  const named = new Set<string>();
  for (const { kind, ref } of groups.flatMap(({ children }) => children)) {
    const world = placeOf(kind);
    const name = `${kindId(kind)} ${keyOf(ref)}${world === undefined ? '' : ` in ${world}`}`;
    if (named.has(name)) throw DefinitionErrors.PlannedTwice(name);
    named.add(name);
  }
}
