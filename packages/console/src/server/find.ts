// The palette: objects by words, and objects that do not exist but are read by one that is not healthy.
import { formatObjectId, type ObjectGraph, type ObjectId } from '@capstan/reconcile';
import type { FindAnswer } from '../api-types.ts';
import type { Rows } from './rows.ts';

/** Absent objects are looked for in the reads of so many objects. */
const MAX_READERS = 200;
const MAX_ABSENT = 50;

export function findObjects(q: string, limit: number, rows: Rows, graph: ObjectGraph): FindAnswer {
  const { rows: objects, total } = rows.page({ q, limit }, () => new Set());
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const absent = new Map<string, ObjectId>();
  if (words.length > 0) {
    for (const row of rows.unready().slice(0, MAX_READERS)) {
      for (const { world, kind, key, presence } of graph.readsOf(row)) {
        const id = formatObjectId({ world, kind, key });
        const text = id.toLowerCase();
        if (presence === 'absent' && words.every((word) => text.includes(word))) absent.set(id, { world, kind, key });
        if (absent.size >= MAX_ABSENT) return { objects, absent: [...absent.values()], total };
      }
    }
  }
  return { objects, absent: [...absent.values()], total };
}
