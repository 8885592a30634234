// Problems that would be reported on objects: conditions that become False, with their errors and warnings, and Events that warn.
import { isRecord, type KubeObject } from '@capstan/kube/cluster';
import type { Change, Derivation, Fork, Noted, Settled } from '../engine/index.ts';
import type { Runtime } from '../runtime/runtime-types.ts';

export interface PreviewProblem {
  /** `operator.reconciler` */
  readonly by: string;
  /** `Kind namespace/name` */
  readonly object: string;
  /** As in `Valid is False (ErrorPresent): …`, or the note of an Event. */
  readonly message: string;
}

/** Returns the problems that the conditions of the object report after the change and not before it. */
export function newConditionProblems(before: KubeObject | undefined, after: KubeObject | undefined): string[] {
  const known = new Set(conditionProblems(statusOf(before), ''));
  return [...new Set(conditionProblems(statusOf(after), ''))].filter((problem) => !known.has(problem));
}

/** Events that a plan would send and that it does not send now; never more than the plan itself has. */
export function newAlerts(before: Settled<unknown> | undefined, after: Settled<unknown> | undefined): string[] {
  const known = new Set(alertsOf(before));
  return alertsOf(after).filter((note) => !known.has(note));
}

function alertsOf(settled: Settled<unknown> | undefined): string[] {
  if (settled?.state !== 'value') return [];
  const { alerts } = settled.value as { readonly alerts: readonly { readonly type?: string; readonly note: string }[] };
  return alerts.filter(({ type }) => type === 'Warning').map(({ note }) => note);
}

function statusOf(object: KubeObject | undefined): unknown {
  return (object as { status?: unknown } | undefined)?.status;
}

/** Conditions wherever they are in a status: those of a Gateway's listeners and of a route's parents too. */
function conditionProblems(value: unknown, place: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => conditionProblems(item, placeOf(item, place)));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    if (name === 'memory') return [];
    if (name === 'conditions' && Array.isArray(field))
      return field.filter(isRecord).flatMap((condition) => problemsOf(condition, place));
    return conditionProblems(field, place);
  });
}

/** Listeners and the like have names; parents of routes refer to one. */
function placeOf(item: unknown, place: string): string {
  if (!isRecord(item)) return place;
  const { name, parentRef } = item;
  if (typeof name === 'string') return `${place}${name}: `;
  if (isRecord(parentRef)) {
    const { name: parent, sectionName } = parentRef;
    return `${place}${[parent, sectionName].filter((part) => typeof part === 'string').join('/')}: `;
  }
  return place;
}

function problemsOf(condition: Readonly<Record<string, unknown>>, place: string): string[] {
  const { type, status, reason, message } = condition;
  const details = ['errors', 'warnings'].flatMap((name) => {
    const found = condition[name];
    const one = name === 'errors' ? 'error' : 'warning';
    return (Array.isArray(found) ? found : [])
      .filter(isRecord)
      .map((detail) => `${place}${text(type)}: ${one} ${text(detail['type'])}, ${text(detail['message'])}`);
  });
  if (details.length > 0) return details;
  const isProblem = PROBLEM_WHEN_TRUE.has(text(type))
    ? status === 'True'
    : status === 'False' && !FOLLOWS_FROM_RUNNING.has(text(type));
  return isProblem ? [`${place}${text(type)} is ${text(status)} (${text(reason)}): ${text(message)}`] : [];
}

const PROBLEM_WHEN_TRUE: ReadonlySet<string> = new Set([
  'ConfigWarning',
  'Conflicted',
  'Degraded',
  'OverlappingTLSConfig',
  'PartiallyInvalid',
  'ReconcileError',
  'Stalled',
]);

/** True once something runs, which a preview does not wait for. */
const FOLLOWS_FROM_RUNNING: ReadonlySet<string> = new Set([
  'Applied',
  'Available',
  'Healthy',
  'Initialized',
  'Installed',
  'Programmed',
  'Progressing',
  'Ready',
  'Synced',
]);

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * Names of the sinks whose next report decides, by `Kind namespace/name` of the owner whose plan reads it. A preview delivers nothing, so
 * the report that follows the change is not known.
 */
export function awaitedReports(
  runtime: Runtime,
  fork: Fork,
  changes: readonly Change[],
): ReadonlyMap<string, readonly string[]> {
  if (runtime.sinks.length === 0) return new Map();
  const bindings = new Map<unknown, Runtime['bindings'][number]>(runtime.bindings.map((one) => [one.writes, one]));
  const sinks = new Map(runtime.sinks.map((one) => [one.reports.name, one]));
  const found = new Map<string, readonly string[]>();
  for (const { derivation, key, before, after } of changes) {
    const binding = bindings.get(derivation);
    if (binding === undefined || after === undefined) continue;
    const awaited = [
      ...fork.notedBy(derivation, key),
      ...readsBelow(runtime, derivation, key, before === after),
    ].flatMap((read) => {
      const sink = sinks.get(read.table);
      if (sink === undefined) return [];
      const isDelivered = changes.some((one) => one.derivation === sink.derivation && one.key === read.key);
      return isDelivered || sink.reports.peek(read.key) === undefined ? [sink.sink.name] : [];
    });
    if (awaited.length > 0) found.set(`${binding.reconciler.resource.kind} ${key}`, [...new Set(awaited)]);
  }
  return found;
}

/** Returns the keys of tables that the last run of a node read, also through the nodes that it reads. */
function readsBelow({ engine }: Runtime, top: Derivation<unknown>, topKey: string, isWanted: boolean): Noted[] {
  const found: Noted[] = [];
  const met = new Set<string>();
  const pending: { derivation: Derivation<unknown>; key: string }[] = isWanted
    ? [{ derivation: top, key: topKey }]
    : [];
  for (const { derivation, key } of pending)
    for (const read of engine.readsOf(derivation, key)) {
      if (read.kind === 'object') found.push({ table: read.table, key: read.key });
      if (read.kind !== 'derived') continue;
      const id = `${read.derivation.name} ${read.key}`;
      if (!met.has(id)) pending.push(read);
      met.add(id);
    }
  return found;
}
