// Why something was written: the inputs that changed, digests before and after, and the path from them. Kept small enough
// for an annotation, and never holding a value.
import type { Cause } from '../engine/index.ts';
import type { KeptInputs } from './inputs.ts';

export interface CauseRecord {
  /** RFC 3339. */
  readonly at: string;
  /** `operator.reconciler` */
  readonly by: string;
  /** The object of the reconciler, as `Kind.group namespace/name`. */
  readonly for: string;
  /** Empty: it was so when this process started, and the state before is not known. */
  readonly changes: readonly CauseChange[];
  /** How many more changes there were. */
  readonly more?: number;
  /** All that the plan was built from, to be compared after a restart; in annotations only. */
  readonly inputs?: KeptInputs;
  /** The lists that the plan was built from; in annotations only. */
  readonly lists?: string;
  /** Other children that were still to be written, by short digests of their names; in annotations only. */
  readonly rest?: string;
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
    paths: telling(paths),
    from: before,
    to: after,
    // The last step is always the diff of the plan that is named already.
    via: via.filter((step) => !step.startsWith('writes of ')),
  }));
  return bounded({
    at,
    by,
    for: owner,
    changes: reported(changes, owner, new Set(changes.filter((_, i) => causes[i]?.isAside))),
  });
}

/** An object's own status and the server's records follow from the rest: they are reported only where nothing else changed. */
function telling(paths: readonly string[]): readonly string[] {
  return isStatusOnly(paths) ? paths : paths.filter((path) => !FOLLOWS.test(path));
}

function isStatusOnly(paths: readonly string[]): boolean {
  return paths.length > 0 && paths.every((path) => FOLLOWS.test(path));
}

const FOLLOWS = /^(status\.|metadata\.(resourceVersion|generation|managedFields)(\W|$))/;

/**
 * Returns the changes that decided: the inputs of the plan, not those that only its comparison with the cluster saw (mostly our own last
 * write), nor those that follow from earlier plans, nor those that only had to be fetched. Each of these is reported if there is nothing
 * else.
 */
function reported(
  changes: readonly CauseChange[],
  owner: string,
  aside: ReadonlySet<CauseChange>,
): readonly CauseChange[] {
  const rules = [
    ({ object, paths, via }: CauseChange) => via.length > 0 || (object === owner && !isStatusOnly(paths)),
    (change: CauseChange) => !aside.has(change),
    ({ from }: CauseChange) => from !== 'unknown',
  ];
  return rules.reduce((left, isKept) => {
    const kept = left.filter(isKept);
    return kept.length > 0 ? kept : left;
  }, changes);
}

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
        // The past of an object that was fetched meanwhile begins with the fetch.
        before: known.before === 'unknown' ? cause.before : known.before,
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

/** As many changes as fit, at least one: the first, shortened if need be. */
function bounded(record: CauseRecord): CauseRecord {
  const all = record.changes;
  const withFirst = (count: number, changes = all.slice(0, count)): CauseRecord => {
    const more = all.length - count;
    return { ...record, changes, ...(more > 0 ? { more } : {}) };
  };
  for (let count = Math.min(all.length, MAX_CHANGES); count > 0; count--) {
    const fitting = withFirst(count);
    if (formatCause(fitting).length <= MAX_LENGTH) return fitting;
  }
  return withFirst(Math.min(all.length, 1), all.slice(0, 1).map(cut));
}

function cut({ object, paths, from, to, via }: CauseChange): CauseChange {
  const few = (texts: readonly string[]) => texts.slice(0, 3).map((text) => clip(text, 100));
  return { object: clip(object, 200), paths: few(paths), from, to, via: few(via) };
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
