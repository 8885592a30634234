// When it is not yet time to write: quiet periods, and the second look before a large share of the children goes.
import { type Clock, kindId } from '@capstan/kube/cluster';
import type { ChildWrite, PendingGroup, WriteSet } from '../diff/index.ts';
import { plainDigest } from '../digest.ts';

/** Something that is wanted, and since when it has been the same. */
export interface PendingWrite {
  readonly id: string;
  readonly since: number;
  /** When the first of a row of changes came, none of which lasted: constant changes must not delay a write for ever. */
  readonly first: number;
}

/** A row of changes, each sooner than the quiet period, goes out after so many of them at the latest. */
const MAX_QUIET_PERIODS = 10;

/** How long a removal of a large share of the inventory must stay wanted before it is believed. */
export const RECHECK_MS = 5000;

/** The pending write as of now: a new one begins when its content changes. */
export function pendingWrite(
  writes: readonly ChildWrite[],
  known: PendingWrite | undefined,
  ms: number,
  clock: Clock,
): PendingWrite {
  const id = writesId(writes);
  if (known?.id === id) return known;
  const now = clock.now();
  return { id, since: now, first: known !== undefined && now - known.since <= ms ? known.first : now };
}

/** Milliseconds until a pending write has stayed the same for so long; 0 when it has. */
export function timeLeft(pending: PendingWrite, ms: number, clock: Clock): number {
  return Math.max(0, pending.since + ms - clock.now());
}

/** As timeLeft, but no row of changes puts it off for ever. */
export function quietTimeLeft(pending: PendingWrite, ms: number, clock: Clock): number {
  const latest = pending.first + MAX_QUIET_PERIODS * ms - clock.now();
  return Math.max(0, Math.min(timeLeft(pending, ms, clock), latest));
}

/** Creations disturb nothing and need not wait, unless the group requires it. */
export function needsQuiet({ quietMs, quietAtCreation, writes }: PendingGroup): boolean {
  return quietMs > 0 && (quietAtCreation || !writes.every(isCreation));
}

/** Most of the children at once, and more than one: the sign of a plan that was built from a view that was not whole. */
export function isLargeShare({ prune, inventory }: WriteSet): boolean {
  return prune.length > 1 && prune.length * 2 > inventory;
}

/** Identifies a list of writes by value, not by the versions of the objects that it was computed from. */
export function writesId(writes: readonly ChildWrite[]): string {
  return plainDigest(writes.map((write) => [write.verb, kindId(write.kind), write.ref, contentOf(write)]));
}

function isCreation(write: ChildWrite): boolean {
  if (write.verb === 'apply') return !write.exists;
  return write.verb === 'create' || (write.verb === 'mint' && write.existing === undefined);
}

function contentOf(write: ChildWrite): unknown {
  switch (write.verb) {
    case 'apply':
    case 'create':
    case 'share':
      return write.body;
    case 'mint':
      return [write.minter.name, write.inputs, write.existing?.uid];
    case 'merge':
      return [write.uid, write.patch];
    case 'hold':
      return write.from;
    case 'patch':
      // Without the first operation, which tests the version.
      return [write.uid, write.operations.slice(1)];
    case 'purge':
      return [write.uid, write.paths];
    case 'withdraw':
    case 'delete':
      return write.uid;
  }
}
