// The time line: lanes of the objects that changed, with their conditions, and the writes with their causes. It is fed with the rows of
// each wave, and bounded as the feed of changes is.
import { type ChangeFeed, formatObjectId, type ObjectChange, type ObjectId } from '@capstan/reconcile';
import type { Row, TimelineAnswer, TimelineLane, WaveAnswer } from '../api-types.ts';

export interface Timeline {
  /** Takes in the rows that changed, and the objects that are gone. */
  record(rows: readonly Row[], removed: readonly string[]): void;
  /** Takes in rows of caches that fill: these objects did not change. */
  found(rows: readonly Row[]): void;
  answer(query: { readonly since?: string; readonly object?: ObjectId }, waves: readonly WaveAnswer[]): TimelineAnswer;
}

export interface TimelineOptions {
  readonly feed: ChangeFeed;
  readonly rows: ReadonlyMap<string, Row>;
  /** RFC 3339. */
  now(): string;
}

type Span = TimelineLane['spans'][number];
type State = Span['state'];

const MAX_LANES = 60;
const MAX_SPANS = 100;
const MAX_OBJECTS = 5000;
/** Leases are renewed all the time. */
const SILENT = new Set(['Lease.coordination.k8s.io']);

export function createTimeline({ feed, rows, now }: TimelineOptions): Timeline {
  const start = now();
  const spans = new Map<string, Span[]>();
  const first = new Map<string, Span>();

  /** The state that an object had when the time line began. */
  function found(known: Iterable<Row>): void {
    for (const row of known)
      if (!first.has(row.id)) first.set(row.id, spanOf(row, row.since === undefined ? start : row.since));
  }
  found(rows.values());

  function add(id: string, span: Span): void {
    const known = spans.get(id) ?? [first.get(id)].filter((one) => one !== undefined);
    const last = known.at(-1);
    if (last !== undefined && last.state === span.state && last.text === span.text && last.to === undefined) return;
    if (last !== undefined && last.to === undefined) known[known.length - 1] = { ...last, to: span.from };
    known.push(span);
    known.splice(0, known.length - MAX_SPANS);
    // Set again, so that the map is in the order of the last changes.
    spans.delete(id);
    spans.set(id, known);
    for (const oldest of spans.keys()) if (spans.size > MAX_OBJECTS) spans.delete(oldest);
  }

  function laneOf(changes: readonly ObjectChange[]): TimelineLane[] {
    const [newest] = changes;
    if (newest === undefined) return [];
    const { world, kind, key } = newest;
    const id = formatObjectId(newest);
    const shown = spans.get(id) ?? [first.get(id)].filter((one) => one !== undefined);
    const marks = changes.toReversed().map(({ at, sequence, verb, cause }) => ({
      at,
      sequence,
      verb,
      causes: cause?.changes.map(({ object }) => object) ?? [],
    }));
    return [{ id, world, kind, key, spans: shown, marks }];
  }

  return {
    found,
    record(changed, removed) {
      const at = now();
      for (const row of changed) {
        if (row.operator === undefined) continue;
        add(row.id, spanOf(row, at));
      }
      for (const id of removed) add(id, { from: at, state: 'absent', text: 'deleted' });
    },
    answer({ since = '', object }, waves) {
      const wanted = object && formatObjectId(object);
      const changes = feed
        .list({ limit: Number.MAX_SAFE_INTEGER })
        .filter((change) => change.at >= since && !SILENT.has(change.kind))
        .filter((change) => wanted === undefined || formatObjectId(change) === wanted || isCausedBy(change, wanted));
      const byObject = Map.groupBy(changes, formatObjectId);
      // The newest change of an object places it; objects of one cause are adjacent.
      const order = [...byObject.values()].map((ones, at) => ({ ones, at, group: groupOf(ones[0]) }));
      const groups = new Map<string, number>();
      for (const { group, at } of order) if (!groups.has(group)) groups.set(group, at);
      const sorted = order.toSorted((a, b) => (groups.get(a.group) ?? 0) - (groups.get(b.group) ?? 0) || a.at - b.at);
      const from = changes.at(-1)?.at ?? start;
      return {
        epoch: feed.epoch,
        from: since > start ? since : start,
        to: now(),
        lanes: sorted.slice(0, MAX_LANES).flatMap(({ ones }) => laneOf(ones)),
        laneCount: sorted.length,
        waves: waves.filter(({ at }) => at >= from && at >= since),
      };
    },
  };
}

function isCausedBy({ cause }: ObjectChange, id: string): boolean {
  return cause?.changes.some(({ object }) => object === id) ?? false;
}

/** Writes of one reconciler for one change belong together. */
function groupOf(change: ObjectChange | undefined): string {
  const source = change?.cause?.changes[0];
  if (change === undefined || source === undefined) return change === undefined ? '' : formatObjectId(change);
  return source.object;
}

const STATES: Readonly<Record<Row['state'], State>> = {
  ready: 'ready',
  broken: 'broken',
  progress: 'progress',
  paused: 'broken',
  none: 'unknown',
};

function spanOf({ state, reason, message }: Row, from: string): Span {
  const text = [reason, message].filter((one) => one !== '').join(': ');
  return { from, state: STATES[state], text: state === 'ready' ? 'ready' : text };
}
