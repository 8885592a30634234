// Why a key has writes, collected until they are done. Each child has causes of its own: a write that waits (for a gate, for a
// quiet period) does not pass its cause on to a child that another edit changes meanwhile.
import type { ChildWrite, WriteSet } from '../../diff/index.ts';
import type { Cause } from '../../engine/index.ts';
import { APPLIED_ANNOTATION } from '../../marks.ts';
import { mergeCauses } from '../../why/index.ts';
import { childId } from './causes-since-restart.ts';

export interface Causes {
  has(key: string): boolean;
  /** Takes in why the writes of a key changed, and which they are now. */
  add(key: string, causes: readonly Cause[], writes?: WriteSet): void;
  /** Why a child is written; without a child, or for one that is not known, why anything is. */
  of(key: string, child?: string): readonly Cause[];
  delete(key: string): void;
}

interface KeyCauses {
  all: readonly Cause[];
  /** Causes that no write shows yet: the plan waited for something. */
  waiting: readonly Cause[];
  children: ReadonlyMap<string, ChildCauses>;
}

interface ChildCauses {
  readonly content: string;
  readonly causes: readonly Cause[];
}

export function createCauses(): Causes {
  const known = new Map<string, KeyCauses>();
  return {
    has: (key) => known.has(key),
    add(key, causes, writes) {
      const before = known.get(key) ?? { all: [], waiting: [], children: new Map<string, ChildCauses>() };
      const all = mergeCauses(before.all, causes);
      if (writes === undefined) {
        known.set(key, { ...before, all, waiting: mergeCauses(before.waiting, causes) });
        return;
      }
      const fresh = mergeCauses(before.waiting, causes);
      const children = new Map<string, ChildCauses>();
      for (const write of writes.groups.flatMap((group) => group.writes)) {
        const id = childId(write.kind, write.ref);
        const earlier = before.children.get(id);
        const content = contentOf(write);
        const isSame = earlier !== undefined && earlier.content === content && content !== '';
        children.set(id, isSame ? earlier : { content, causes: mergeCauses(earlier?.causes ?? [], fresh) });
      }
      known.set(key, { all, waiting: [], children });
    },
    of(key, child) {
      const found = known.get(key);
      const own = child === undefined ? undefined : found?.children.get(child)?.causes;
      return own ?? found?.all ?? [];
    },
    delete: (key) => known.delete(key),
  };
}

/** Returns the digest of the applied body; empty for a write without one. */
function contentOf(write: ChildWrite): string {
  return write.verb === 'apply' ? (write.body.metadata.annotations?.[APPLIED_ANNOTATION] ?? '') : '';
}
