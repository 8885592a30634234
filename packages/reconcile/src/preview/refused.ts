// Writes that would be refused, and the reports of their reconcilers: reports are read like objects, so that statuses follow.
import { equal, type KubeObject } from '@capstan/kube/cluster';
import { writesId } from '../apply/index.ts';
import type { ChildWrite, Failure, WriteSet } from '../diff/index.ts';
import type { Change, Settled, Table } from '../engine/index.ts';
import type { Binding } from '../runtime/writer/binding.ts';
import type { Overlay } from './overlay.ts';
import type { Rehearsals } from './rehearsals.ts';

export interface Refused {
  /** The report about a write that would be refused; undefined where the server would take it. */
  of(write: ChildWrite, existing: KubeObject | undefined): Failure | undefined;
  /** Whether an object of another owner is where a child should be. */
  readonly isInTheWay: boolean;
  /** Reports the refusals of one evaluation, and that the earlier ones are over. Returns true when a report changed. */
  report(refusals: readonly Failure[], hasWritten: boolean): boolean;
}

/** The reports about one evaluation of one key. */
export function createRefused(
  { overlay, rehearsals }: { readonly overlay: Overlay; readonly rehearsals: Rehearsals },
  binding: Binding,
  { key, before, after }: Change,
): Refused {
  const known = overlay.report(binding.failures, key);
  const refusedBefore = known === undefined ? new Set<string>() : firstOf(before);
  const set = (table: Table<Failure>, next: Failure | undefined) => {
    if (equal(overlay.report(table, key), next)) return false;
    overlay.setReport(table, key, next);
    return true;
  };
  const conflict = writesIn(after)?.notes.find(({ about }) => about === 'conflict');
  return {
    isInTheWay: conflict !== undefined,
    of(write, existing) {
      // The server refuses the same write again.
      if (known !== undefined && known.reason !== 'Threw' && refusedBefore.has(writesId([write]))) return known;
      return write.verb === 'share' && existing !== undefined ? rehearsals.refusalOf(write, binding) : undefined;
    },
    report(refusals, hasWritten) {
      const inTheWay = conflict && ({ reason: 'Conflict', message: conflict.message } as const);
      const isMoved = set(binding.conflicts, inTheWay);
      const last = refusals.at(-1);
      if (last === undefined && hasWritten) return isMoved;
      return set(binding.failures, last) || isMoved;
    },
  };
}

/** The group that is tried first: one that stays there has been refused. */
function firstOf(settled: Settled<unknown> | undefined): Set<string> {
  return new Set(writesIn(settled)?.groups[0]?.writes.map((write) => writesId([write])));
}

function writesIn(settled: Settled<unknown> | undefined): WriteSet | undefined {
  return settled?.state === 'value' ? (settled.value as WriteSet) : undefined;
}
