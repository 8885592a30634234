import type { Clock } from '@capstan/kube';
import { createEngine } from './engine.ts';
import type { Change, EngineOptions } from './engine-types.ts';

export interface Item {
  spec?: { ports?: number[]; weight?: number };
  status?: number;
  ref?: string;
}

export const clock: Clock = { now: () => 0, after: () => ({ cancel() {} }), yield: () => Promise.resolve() };

export function setUp(options: Partial<EngineOptions> = {}) {
  const engine = createEngine({ clock, ...options });
  const items = engine.table<Item>({ name: 'Item' });
  items.synced();
  return { engine, items };
}

export function afterOf(changes: readonly Change[]): unknown[] {
  return changes.map(({ key, after }) => [key, after?.state === 'value' ? after.value : after?.state]);
}
