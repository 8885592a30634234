// Why something was written: the inputs that changed, digests before and after, and the path from them. Kept small enough
// for an annotation, and never holding a value.
import type { Cause } from '../engine/index.ts';

export interface CauseRecord {
  /** RFC 3339. */
  readonly at: string;
  /** `operator.reconciler` */
  readonly by: string;
  /** What the reconciler worked on, as `Kind.group namespace/name`. */
  readonly for: string;
  /** Empty: it was so when this process started, and what was there before is not known. */
  readonly changes: readonly CauseChange[];
  /** How many more changes there were. */
  readonly more?: number;
}

export interface CauseChange {
  /** `Kind.group namespace/name` */
  readonly object: string;
  readonly paths: readonly string[];
  /** Short digests, `absent` or `unknown`. */
  readonly from: string;
  readonly to: string;
  /** From the changed object to the plan, nearest first. */
  readonly via: readonly string[];
}

/** Annotations are small: all of an object's together may have 256 KiB, and people read them. */
const MAX_LENGTH = 1500;
const MAX_CHANGES = 10;

export function causeRecord(at: string, by: string, owner: string, causes: readonly Cause[]): CauseRecord {
  const changes = causes.map(({ source, paths, before, after, via }) => ({
    object: `${source.table} ${source.key}`,
    paths,
    from: before,
    to: after,
    // The last step is always the diff of the plan that is named already.
    via: via.filter((step) => !step.startsWith('writes of ')),
  }));
  return bounded({ at, by, for: owner, changes: told(changes) });
}

/** What the plan was made from; what only its comparison with the cluster saw (our own last write, mostly) when there is nothing else. */
function told(changes: readonly CauseChange[]): readonly CauseChange[] {
  const planned = changes.filter(({ via }) => via.length > 0);
  return planned.length > 0 ? planned : changes;
}

/** Several waves before one write: the earliest `from` and the latest `to` of each object. */
export function mergeCauses(earlier: readonly Cause[], later: readonly Cause[]): readonly Cause[] {
  if (earlier.length === 0) return later;
  const merged = [...earlier];
  for (const cause of later) {
    const at = merged.findIndex(({ source }) => source.table === cause.source.table && source.key === cause.source.key);
    const known = merged[at];
    if (known === undefined) merged.push(cause);
    else
      merged[at] = {
        ...cause,
        before: known.before,
        paths: [...new Set([...known.paths, ...cause.paths])].slice(0, 8),
      };
  }
  return merged.slice(0, MAX_CHANGES * 2);
}

export function formatCause(record: CauseRecord): string {
  return JSON.stringify(record);
}

/** Reads the annotation; undefined when it is missing or not ours. */
export function parseCause(text: string | undefined): CauseRecord | undefined {
  if (text === undefined) return undefined;
  try {
    const record = JSON.parse(text) as CauseRecord;
    return Array.isArray(record.changes) && typeof record.by === 'string' ? record : undefined;
  } catch {
    return undefined;
  }
}

function bounded(record: CauseRecord): CauseRecord {
  let { changes } = record;
  let more = 0;
  const current = () => (more > 0 ? { ...record, changes, more } : { ...record, changes });
  while (changes.length > 0 && (changes.length > MAX_CHANGES || formatCause(current()).length > MAX_LENGTH)) {
    changes = changes.slice(0, -1);
    more++;
  }
  return current();
}
