// The answer about one object: itself, its conditions, the recorded reads of its plans, the deliveries that read it, and in one
// paragraph why it is as it is.
import type { Kind, KubeObject } from '@capstan/kube';
import {
  CAUSE_ANNOTATION,
  type CauseRecord,
  type ChangeFeed,
  formatObjectId,
  type ObjectGraph,
  type ObjectId,
  type ObjectRead,
  objectGraph,
  parseCause,
  type RuntimeCauses,
} from '@capstan/reconcile';
import type { ConditionAnswer, DeliveryAnswer, ObjectAnswer, ReadAnswer, Row } from '../api-types.ts';
import { podsOf } from '../objects/pods-of.ts';
import { ownersOf, shownObject } from '../objects/shown-object.ts';
import { type WrittenObjects, writtenObjects } from '../objects/written-objects.ts';
import type { Rows } from './rows.ts';
import type { ConsoleSource } from './source.ts';

const MAX_READS = 500;
const MAX_DELIVERIES = 200;
const MAX_CHANGES = 50;
/** So many objects are named in one sentence. */
const MAX_NAMED = 3;

export interface ObjectAnswerOptions {
  readonly source: ConsoleSource;
  readonly rows: Rows;
  readonly feed: ChangeFeed;
  causes(): RuntimeCauses;
}

/** Undefined where the object does not exist. */
export async function objectAnswer(
  id: ObjectId,
  kind: Kind,
  { source, rows, feed, causes }: ObjectAnswerOptions,
  signal: AbortSignal,
): Promise<ObjectAnswer | undefined> {
  const object = await source.fetch(id, kind, signal);
  if (object === undefined) return undefined;
  const events = await source.events?.(object, signal);
  const graph = objectGraph(source.runtime);
  const reads = graph.readsOf(id);
  const row = rows.all.get(formatObjectId(id));
  const cause = parseCause(object.metadata.annotations?.[CAUSE_ANNOTATION]);
  const written = writtenObjects(source.runtime, id);
  return {
    id: formatObjectId(id),
    object: shownObject(object, kind),
    owners: ownersOf(object),
    health: row ?? null,
    cause: cause === undefined ? null : { ...cause },
    history: source.historyOf?.(`${id.kind} ${id.key}`) ?? source.runtime.history.of(`${id.kind} ${id.key}`),
    changes: feed.list({ limit: MAX_CHANGES, object: id }),
    conditions: conditionsOf(object),
    why: whyText({
      id,
      row,
      reads,
      cause,
      written,
      causes: row === undefined ? undefined : causes(),
    }),
    reads: reads.toSorted(absentFirst).slice(0, MAX_READS).map(readAnswer),
    readCount: reads.length,
    deliveries: await deliveriesOf(graph, id, source, signal),
    pods: podsOf(source.runtime, id, written.objects),
    ...(events !== undefined && { events }),
  };
}

function conditionsOf(object: KubeObject): ConditionAnswer[] {
  const { conditions } = ((object as { status?: unknown }).status ?? {}) as { conditions?: unknown };
  if (!Array.isArray(conditions)) return [];
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return (conditions as readonly (Record<string, unknown> | null)[]).flatMap((one) => {
    if (one === null || typeof one !== 'object') return [];
    const { type, status, reason, message, lastTransitionTime: since } = one;
    const shown = { type: text(type), status: text(status), reason: text(reason), message: text(message) };
    return [{ ...shown, ...(typeof since === 'string' && { since }) }];
  });
}

const PRESENCE_ORDER: Readonly<Record<ObjectRead['presence'], number>> = { absent: 0, unknown: 1, known: 2 };

function absentFirst(a: ObjectRead, b: ObjectRead): number {
  return PRESENCE_ORDER[a.presence] - PRESENCE_ORDER[b.presence] || (formatObjectId(a) < formatObjectId(b) ? -1 : 1);
}

function readAnswer({ world, kind, key, presence, projections, via, isListed }: ObjectRead): ReadAnswer {
  return {
    id: formatObjectId({ world, kind, key }),
    world,
    kind,
    key,
    presence,
    // The empty name stands for the whole object.
    projections: projections.filter((name) => name !== ''),
    via,
    isListed,
  };
}

async function deliveriesOf(
  graph: ObjectGraph,
  id: ObjectId,
  source: ConsoleSource,
  signal: AbortSignal,
): Promise<DeliveryAnswer[]> {
  const keys = graph
    .readersOf(id)
    .filter(({ isSink }) => isSink)
    .slice(0, MAX_DELIVERIES)
    .map(({ by: sink, key }) => ({ sink, key }));
  if (keys.length === 0) return [];
  const known = await source.deliveriesOf?.(id, keys, signal);
  return keys.map((one) => ({ ...one, ...(known?.get(`${one.sink} ${one.key}`) ?? { state: 'not-known' as const }) }));
}

interface WhyInput {
  readonly id: ObjectId;
  readonly row: Row | undefined;
  readonly reads: readonly ObjectRead[];
  readonly cause: CauseRecord | undefined;
  readonly written: WrittenObjects;
  readonly causes: RuntimeCauses | undefined;
}

const STATES: Readonly<Record<Row['state'], string>> = {
  ready: 'is healthy',
  broken: 'is not healthy',
  progress: 'is in progress',
  paused: 'is paused',
  none: 'exists; no operator reports its health',
};

/** Returns sentences in up to four lines: the state, the reasons, the last write of the object, and the writes of its plan. */
export function whyText({ id, row, reads, cause, written, causes }: WhyInput): string {
  const name = shortId(formatObjectId(id));
  const [state, reasons, rest, writes]: [string[], string[], string[], string[]] = [[], [], [], []];
  const paragraphs = [state, reasons, rest, writes];
  if (row !== undefined) {
    const detail = [row.reason, row.message].filter((text) => text !== '').join(': ');
    state.push(`${name} ${STATES[row.state]}${detail === '' ? '' : ` (${detail})`}.`);
  }
  const nearest = row !== undefined && row.state !== 'ready' && causes !== undefined ? causes.causesOf(row.id) : [];
  if (nearest.length > 0) {
    const standing = (one: string) => (causes?.absent.has(one) ? 'does not exist' : 'is not healthy');
    reasons.push(`It depends on ${named(nearest, (one) => `${shortId(one)}, which ${standing(one)}`)}.`);
    const roots = rootsOf(nearest, causes);
    if (roots.length > 0) reasons.push(`The root cause is ${named(roots, shortId)}.`);
  } else if (row?.state === 'broken') {
    reasons.push('None of its recorded reads has a problem, so the cause is in the object itself.');
  }
  if (reads.length > 0) {
    const absent = reads.filter(({ presence }) => presence === 'absent').length;
    const unknown = reads.filter(({ presence }) => presence === 'unknown').length;
    const lacking = [absent > 0 && `${absent} absent`, unknown > 0 && `${unknown} not known`].filter(Boolean);
    rest.push(`Its plan read ${counted(reads.length)}${lacking.length === 0 ? '' : `, ${lacking.join(' and ')}`}.`);
  }
  if (cause !== undefined) rest.push(causeText(cause, 'it'));
  if (written.objects.length > 0) {
    const objects = written.objects.map(formatObjectId).toSorted();
    writes.push(`It is the reason for ${named(objects, shortId)}.`);
  }
  if (written.last !== undefined) writes.push(causeText(written.last.cause, shortId(written.last.id)));
  return paragraphs
    .map((one) => one.join(' '))
    .filter((text) => text !== '')
    .join('\n');
}

function causeText({ at, by, for: owner, changes, more = 0 }: CauseRecord, written: string): string {
  const write = `${by} wrote ${written} at ${at} for ${shortId(owner)}`;
  const objects = changes.map(({ object, from, to }) => {
    const verb = from === 'absent' ? 'was created' : to === 'absent' ? 'was removed' : 'changed';
    return `${shortId(object)} ${verb}`;
  });
  if (objects.length === 0) return `${write}, when Capstan started.`;
  return `${write}, because ${named(objects, (one) => one, more)}.`;
}

/** Follows the nearest causes to those that have none. */
function rootsOf(nearest: readonly string[], causes: RuntimeCauses | undefined): string[] {
  if (causes === undefined) return [];
  const roots = new Set(causes.roots.map(({ id }) => id));
  const seen = new Set(nearest);
  for (const one of seen) for (const next of causes.causesOf(one)) seen.add(next);
  const found = [...seen].filter((one) => roots.has(one));
  // A cause that is nearest and a root is named already.
  return found.every((one) => nearest.includes(one)) ? [] : found;
}

function named(ids: readonly string[], textOf: (id: string) => string, more = 0): string {
  const shown = ids.slice(0, MAX_NAMED).map(textOf);
  const rest = ids.length - shown.length + more;
  return rest === 0 ? joined(shown) : `${shown.join(', ')} and ${rest} more`;
}

function joined(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;
}

function counted(objects: number): string {
  return objects === 1 ? '1 object' : `${objects} objects`;
}

/** `Deployment.apps default/x` without the group, which people seldom need. */
function shortId(id: string): string {
  return id.replace(/\b([A-Z]\w*)\.[a-z0-9.-]+(?= )/, '$1');
}
