// The content of the tables, kept beside the engine in the simplest way, so that a fresh engine can be brought to the same state.
import type { Fork } from '../engine-types.ts';
import { type Dice } from './random.ts';
import { FACTS, type Item, KEYS, randomItem, type Schema } from './schema.ts';

export type Held = { value: unknown } | 'absent' | 'unknown';

export interface Model {
  synced: boolean;
  items: Map<string, Held>;
  facts: Map<string, Held>;
  /** Items that are unknown now, and their value when they were last seen: roots keep them. */
  ghosts: Map<string, Item>;
}

export type Edit =
  | { kind: 'put' | 'putFact'; key: string; value: unknown }
  | { kind: 'delete' | 'forget' | 'deleteFact' | 'forgetFact'; key: string }
  | { kind: 'synced' | 'unsynced' };

export function newModel(): Model {
  return { synced: false, items: new Map(), facts: new Map(), ghosts: new Map() };
}

export function randomEdits(roll: Dice, model: Model): Edit[] {
  const edits: Edit[] = [];
  // Most batches are of the plain kind that a preview knows too.
  const special = roll.chance(0.3);
  for (let i = 1 + roll.below(4); i > 0; i--) edits.push(randomEdit(roll, model, special));
  return edits;
}

function randomEdit(roll: Dice, model: Model, special: boolean): Edit {
  const key = roll.pick(KEYS);
  if (special && roll.chance(0.6)) {
    const fact = roll.pick(FACTS);
    const kind = roll.below(7);
    if (kind <= 2) return { kind: 'putFact', key: fact, value: roll.below(3) };
    if (kind === 3) return { kind: 'forgetFact', key: fact };
    if (kind === 4) return { kind: 'deleteFact', key: fact };
    if (kind === 5) return { kind: 'forget', key };
    return { kind: model.synced && roll.chance(0.3) ? 'unsynced' : 'synced' };
  }
  if (roll.chance(0.25)) return { kind: 'delete', key };
  const held = model.items.get(key);
  if (typeof held === 'object' && roll.chance(0.4)) {
    const item = held.value as Item;
    return {
      kind: 'put',
      key,
      value: { ...item, ...(roll.chance(0.5) ? { status: roll.below(100) } : { n: roll.below(5) }) },
    };
  }
  return { kind: 'put', key, value: randomItem(roll) };
}

export function applyToModel(model: Model, edit: Edit): void {
  switch (edit.kind) {
    case 'put':
      model.items.set(edit.key, { value: edit.value });
      break;
    case 'putFact':
      model.facts.set(edit.key, { value: edit.value });
      break;
    case 'delete':
      if (model.synced) model.items.delete(edit.key);
      else model.items.set(edit.key, 'absent');
      break;
    case 'forget':
      if (model.synced) model.items.set(edit.key, 'unknown');
      else model.items.delete(edit.key);
      break;
    case 'deleteFact':
      model.facts.set(edit.key, 'absent');
      break;
    case 'forgetFact':
      model.facts.delete(edit.key);
      break;
    case 'synced':
      model.synced = true;
      for (const [key, held] of model.items) if (held === 'absent') model.items.delete(key);
      break;
    case 'unsynced':
      model.synced = false;
      break;
  }
}

/** Returns the model that the engine sees at a flush. */
export function closeBatch(model: Model, last: Map<string, Item>): Model {
  const ghosts = new Map<string, Item>();
  for (const key of KEYS) {
    const held = model.items.get(key);
    const unknown = held === 'unknown' || (held === undefined && !model.synced);
    if (typeof held === 'object') last.set(key, held.value as Item);
    else if (!unknown) last.delete(key);
    else {
      const ghost = last.get(key);
      if (ghost !== undefined) ghosts.set(key, ghost);
    }
  }
  return { synced: model.synced, items: new Map(model.items), facts: new Map(model.facts), ghosts };
}

export function applyToEngine({ items, facts }: Schema, edit: Edit): void {
  switch (edit.kind) {
    case 'put':
      items.put(edit.key, structuredClone(edit.value) as Item);
      break;
    case 'putFact':
      facts.put(edit.key, edit.value as number);
      break;
    case 'delete':
      items.delete(edit.key);
      break;
    case 'forget':
      items.forget(edit.key);
      break;
    case 'deleteFact':
      facts.delete(edit.key);
      break;
    case 'forgetFact':
      facts.forget(edit.key);
      break;
    case 'synced':
      items.synced();
      break;
    case 'unsynced':
      items.unsynced();
      break;
  }
}

/** False for edits that a preview does not know. */
export function applyToFork({ items, facts }: Schema, fork: Fork, edit: Edit): boolean {
  if (edit.kind === 'put') fork.put(items, edit.key, structuredClone(edit.value) as Item);
  else if (edit.kind === 'putFact') fork.put(facts, edit.key, edit.value as number);
  else if (edit.kind === 'delete') fork.delete(items, edit.key);
  else if (edit.kind === 'deleteFact') fork.delete(facts, edit.key);
  else return false;
  return true;
}

/** Brings fresh tables to the model's state in two steps: a value that was seen before it became unknown has to be seen first. */
export function* replay({ items, facts }: Schema, model: Model): Generator<void> {
  for (const [key, held] of model.facts) {
    if (typeof held === 'object') facts.put(key, held.value as number);
    else if (held === 'absent') facts.delete(key);
  }
  items.synced();
  for (const [key, held] of model.items) if (typeof held === 'object') items.put(key, held.value as Item);
  for (const [key, item] of model.ghosts) items.put(key, item);
  if (model.synced && model.ghosts.size === 0 && ![...model.items.values()].includes('unknown')) return;
  yield;
  for (const [key, held] of model.items) if (held === 'unknown') items.forget(key);
  if (model.synced) return;
  items.unsynced();
  for (const key of model.ghosts.keys()) if (!model.items.has(key)) items.forget(key);
  for (const [key, held] of model.items) if (held === 'absent') items.delete(key);
}
