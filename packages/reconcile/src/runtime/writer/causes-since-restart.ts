// The causes of a write by a process that did not see its inputs change, because it has just started or because the child or its owner was
// paused. The children of an owner carry the inputs of the plans that wrote them, so the newest of those plans shows the changes since.
import { hash } from 'node:crypto';
import { type Kind, keyOf, kindId, type ObjectRef } from '@capstan/kube/cluster';
import type { ChildWrite, WriteSet } from '../../diff/index.ts';
import type { Cause, Engine, Inputs } from '../../engine/index.ts';
import { inventoryOf } from '../../inventory.ts';
import { CAUSE_ANNOTATION } from '../../marks.ts';
import { type CauseRecord, changedInputs, type KeptCause, parseCause } from '../../why/index.ts';
import type { Binding } from './binding.ts';

interface Written {
  readonly binding: Binding;
  readonly engine: Engine;
  readonly key: string;
  readonly write: ChildWrite;
  readonly inputs: Inputs;
  /** The causes that this process has seen. */
  readonly seen: readonly Cause[];
}

export function causesSinceRestart({ binding, engine, key, write, inputs, seen }: Written): readonly Cause[] {
  const child = childId(write.kind, write.ref);
  // The plan is as before, and another client changed the child.
  if (write.verb === 'apply' && write.taken.length > 0) return [ofChild(write, write.taken, '')];
  const all = keptCauses(binding, engine, key);
  const kept = newest(all, child);
  const base = kept ?? newest(all);
  if (base === undefined || inputs.values.length === 0) return seen;
  const changed = changedInputs(inputs, base);
  if (changed.length > 0) return changed.map((cause) => withPaths(cause, seen));
  const isCreated = write.verb === 'create' || (write.verb === 'apply' && !write.exists);
  if (!isCreated) return seen;
  // If the others were written before this one, it was removed since, or the process ended before it was created.
  return kept === undefined ? [] : [ofChild(write, [], 'absent')];
}

/** Returns those of the successive causes that the last write does not know yet. An edit that was reverted is none. */
export function netCauses({ binding, engine, key, write, inputs, seen }: Written): readonly Cause[] {
  if (seen.length < 2) return seen;
  const kept = newest(keptCauses(binding, engine, key), childId(write.kind, write.ref));
  if (kept === undefined || inputs.values.length === 0) return seen;
  const changed = new Set(changedInputs(inputs, kept).map(({ source }) => `${source.table} ${source.key}`));
  const net = seen.filter(({ source }) => changed.has(`${source.table} ${source.key}`));
  return net.length > 0 ? net : seen;
}

/** Identifies a child in few characters. */
export function childId(kind: Kind, ref: ObjectRef): string {
  return shortId(`${kindId(kind)} ${keyOf(ref)}`);
}

function shortId(child: string): string {
  return hash('sha256', child, 'hex').slice(0, 6);
}

/** The children that are still to be written when this one is, those that are paused included. */
export function restOf({ groups, notes }: Pick<WriteSet, 'groups' | 'notes'>, write: ChildWrite): string {
  const own = childId(write.kind, write.ref);
  const left = groups.flatMap((group) => group.writes.map(({ kind, ref }) => childId(kind, ref)));
  const paused = notes.flatMap(({ child }) => (child === undefined ? [] : [shortId(child)]));
  return [...new Set([...left, ...paused])].filter((id) => id !== own).join(' ');
}

/** Returns true where a pause ended: of the owner, or of one of its children. */
export function isResumed(before: WriteSet | undefined, after: WriteSet | undefined): boolean {
  const paused = new Set(after?.notes.filter(({ about }) => about === 'paused').map(({ message }) => message));
  return before?.notes.some(({ about, message }) => about === 'paused' && !paused.has(message)) ?? false;
}

interface ChildCause {
  readonly child: string;
  readonly cause: CauseRecord & KeptCause;
}

/** Returns the causes of the planned children that exist and are ours. */
function keptCauses(binding: Binding, engine: Engine, key: string): readonly ChildCause[] {
  const planned = engine.valueOf(binding.plans, key);
  const owner = binding.table.peek(key);
  if (planned?.state !== 'value' || owner === undefined) return [];
  const { inventory } = binding.ownership(owner);
  return planned.value.groups.flatMap(({ children }) =>
    children.flatMap(({ kind, ref }): ChildCause[] => {
      const object = binding.worldFor(kind)?.childTable(kind)?.peek(keyOf(ref));
      if (object === undefined || inventoryOf(object) !== inventory) return [];
      const cause = parseCause(object.metadata.annotations?.[CAUSE_ANNOTATION]);
      const isKept = typeof cause?.inputs === 'object';
      return isKept ? [{ child: childId(kind, ref), cause: cause as CauseRecord & KeptCause }] : [];
    }),
  );
}

/**
 * The newest one after which this child was as planned. If a child that was still to be written then is written now, the
 * reason may be older.
 */
function newest(kept: readonly ChildCause[], child?: string): KeptCause | undefined {
  const own = kept.find((one) => one.child === child)?.cause;
  return kept
    .filter(({ cause }) => child === undefined || !(cause.rest ?? '').split(' ').includes(child))
    .reduce<KeptCause | undefined>(
      (best, { cause }) => (best !== undefined && best.at >= cause.at ? best : cause),
      own,
    );
}

function ofChild({ kind, ref }: ChildWrite, paths: readonly string[], after: string): Cause {
  return { source: { table: kindId(kind), key: keyOf(ref) }, paths, before: '', after, via: [] };
}

/** This process's own observation of the same input is more than digests. */
function withPaths(cause: Cause, seen: readonly Cause[]): Cause {
  const { table, key } = cause.source;
  const own = seen.find(({ source }) => source.table === table && source.key === key);
  return own === undefined || own.before === 'unknown' ? cause : { ...cause, paths: own.paths };
}
