// The owner's status: the plan's part, and the runtime's own part.
import { isRemoved, mergeConditions } from '../plan/conditions.ts';
import {
  type Condition,
  type ConditionInput,
  conditionsOf,
  type EventInput,
  noCondition,
  type Plan,
  type StatusInput,
} from '../plan/index.ts';
import { mergeStatus } from '../plan/status.ts';
import type { DiffInput, Failure } from './input.ts';
import type { Note, StatusWrite } from './writes.ts';

/** The plan of an object whose reconciler threw or that is paused: it is empty, and removes nothing. */
export const SILENT_PLAN: Plan = {
  outcome: 'desired',
  held: undefined,
  groups: [],
  prune: false,
  status: undefined,
  conditions: [],
  memory: undefined,
  events: [],
  progress: undefined,
};

/**
 * Returns the runtime's own reports: conditions that are present only while they hold; events on kinds that are not ours, whose status is
 * not the place for them.
 */
export function shownBy(
  input: DiffInput,
  notes: readonly Note[],
): { conditions: readonly ConditionInput[]; alerts: readonly EventInput[] } {
  const failure = input.observed.failure();
  const about = (what: Note['about']) => notes.find((note) => note.about === what)?.message;
  const conflict = about('conflict');
  const isWaiting = failure?.reason === 'Waiting';
  const holding = {
    ReconcileError:
      (isWaiting ? undefined : failure) ??
      (conflict === undefined ? undefined : { reason: 'Conflict', message: conflict }),
    Waiting: isWaiting ? failure : undefined,
    RolledBack: { reason: 'RolledBack', message: about('rolledBack') },
    ForeignFields: { reason: 'SetByOthers', message: about('foreign') },
    Paused: { reason: 'Paused', message: about('paused') },
    WaitingForCluster: { reason: 'ClusterAway', message: about('away') },
  };
  const all = Object.entries(holding).map(([type, { reason, message } = {}]) => ({ type, reason, message }));
  if (input.isForeign ?? !input.hasStatus) {
    const alerts = all.flatMap(({ reason, message }) =>
      reason === undefined || message === undefined ? [] : [{ type: 'Warning' as const, reason, note: message }],
    );
    return { conditions: [], alerts };
  }
  const conditions = all.flatMap(({ type, reason, message }) => detail(input, type, reason, message) ?? []);
  return { conditions, alerts: [] };
}

/** The condition in which each reconciler of an object has a line of its own; other conditions have one line for all. */
const SHARED = 'ReconcileError';

/**
 * A condition of the runtime. Several reconcilers may work on one kind: each signs its message, and leaves messages with another signature,
 * so that they do not alternate for ever.
 */
function detail(input: DiffInput, type: string, reason = '', message?: string): ConditionInput | undefined {
  const signature = ` (${input.ownership.owner.reconciler})`;
  const existing = conditionsOf(input.observed.status()).find((condition) => condition.type === type);
  const line = message === undefined ? undefined : `${message.replace(/\s*\n\s*/g, ' ')}${signature}`;
  const others = existing?.message.split('\n').filter((each) => !each.endsWith(signature)) ?? [];
  if (existing === undefined || others.length === 0)
    return line === undefined ? noCondition(type) : { type, status: 'True', reason, message: line };
  if (type !== SHARED || !others.every((each) => SIGNED.test(each))) return undefined;
  if (line === undefined && others.length === existing.message.split('\n').length) return undefined;
  const lines = [...others, ...(line === undefined ? [] : [line])].toSorted((a, b) => (signer(a) < signer(b) ? -1 : 1));
  // The reason is that of the first line: the one that has signed it knows it.
  const isFirst = line !== undefined && lines[0] === line;
  return { type, status: 'True', reason: isFirst ? reason : existing.reason, message: lines.join('\n') };
}

/** Returns the report of a reconciler that the status of an object shows; undefined where it has signed no line of it. */
export function reportedIn(status: StatusInput | undefined, by: string): Failure | undefined {
  const shown = conditionsOf(status).find(({ type, status: holds }) => type === SHARED && holds === 'True');
  const lines = shown?.message.split('\n') ?? [];
  const at = lines.findIndex((each) => signer(each) === by);
  const line = lines[at];
  if (shown === undefined || line === undefined) return undefined;
  const message = line.slice(0, -` (${by})`.length);
  // The reason is that of the first line.
  return { reason: at === 0 && isReason(shown.reason) ? shown.reason : 'WriteRefused', message };
}

function isReason(reason: string): reason is Failure['reason'] {
  return ['WriteRefused', 'Conflict', 'PreflightRefused'].includes(reason);
}

const SIGNED = / \(([a-z0-9-]+\.[a-z0-9-]+)\)$/;

function signer(line: string): string {
  return SIGNED.exec(line)?.[1] ?? '';
}

/** Returns the remaining write of the status, or undefined. */
export function statusWrite(input: DiffInput, ofRuntime: readonly ConditionInput[]): StatusWrite | undefined {
  const { plan, ownership, observed, hasStatus, isPrimary } = input;
  if (!hasStatus) return undefined;
  const { generation } = ownership.object.metadata;
  const current = observed.status();
  const base: Record<string, unknown> = { ...plan.status };
  const isRecorded = isPrimary && ownership.owner.kind.hasObservedGeneration !== false;
  if (isRecorded && generation !== undefined && plan !== SILENT_PLAN) base['observedGeneration'] = generation;
  if (plan.memory !== undefined) base['memory'] = plan.memory;
  const existing = conditionsOf(current);
  const conditions = [...plan.conditions, ...ofRuntime].filter(
    (wanted) => !isRemoved(wanted) || existing.some(({ type }) => type === wanted.type),
  );
  const isUrgent = mergeStatus(current, base) !== current || hasNews(existing, conditions, generation);
  const merged = { ...base, ...plan.progress };
  const isReported = !mergeConditions(existing, conditions, generation, () => '').changed;
  if (!isUrgent && isReported && mergeStatus(current, merged) === current) return undefined;
  return { input: merged, conditions, generation, isUrgent };
}

/** Whether a condition has changed. Another wording alone (a count that moves) is progress. */
function hasNews(
  existing: readonly Condition[],
  wanted: readonly ConditionInput[],
  generation: number | undefined,
): boolean {
  const reworded = wanted.map((condition) => {
    const before = existing.find(({ type }) => type === condition.type);
    return before === undefined || isRemoved(condition) ? condition : { ...condition, message: before.message };
  });
  return mergeConditions(existing, reworded, generation, () => '').changed;
}
