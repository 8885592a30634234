// Random graphs whose every decision is in their data: the objects, lists and derivations that a node reads, whether it throws, and its
// result follow from the seed (the derivations' steps) and from the objects.
import { canonicalJson } from '@capstan/kube/cluster';
import type { Derivation, Engine, Index, Projection, Settled, Table, Tracker } from '../engine-types.ts';
import { fields } from '../graph/projection.ts';
import type { Selector, SelectorTerm, Where } from '../graph/where.ts';
import { type Dice, dice } from './random.ts';

export interface Item {
  n: number;
  labels: Record<string, string>;
  ref: string;
  status: number;
}

export const NAMESPACES = ['p', 'q', 'r'] as const;
export const KEYS = NAMESPACES.flatMap((namespace) => ['a', 'b', 'c', 'd'].map((name) => `${namespace}/${name}`));
export const FACTS = ['f0', 'f1', 'f2', 'f3'] as const;

export interface Schema {
  items: Table<Item>;
  facts: Table<number>;
  derivations: Derivation<unknown>[];
  sinks: Set<Derivation<unknown>>;
  demanded: Set<string>;
  demandedLists: Set<string>;
  /** Whether some derivation is a fold. */
  folds: boolean;
}

/** Builds the tables, derivations and roots of a seed; the same seed gives the same schema in every engine. */
export function buildSchema(engine: Engine, seed: number): Schema {
  const roll = dice(seed);
  const demanded = new Set<string>();
  const demandedLists = new Set<string>();
  const toggle = (set: Set<string>, key: string, wanted: boolean) => {
    if (set.has(key) === wanted) throw new Error(`demand of ${key} announced twice`);
    if (wanted) set.add(key);
    else set.delete(key);
  };
  const items = engine.table<Item>({
    name: 'Item',
    labels: (item) => item.labels,
    demand: {
      list: (where) => toggle(demandedLists, whereText(where), true),
      listIdle: (where) => toggle(demandedLists, whereText(where), false),
    },
  });
  const facts = engine.table<number>({
    name: 'Fact',
    demand: { key: (key) => toggle(demanded, key, true), idle: (key) => toggle(demanded, key, false) },
  });
  const context: Context = {
    items,
    facts,
    byRef: engine.index(items, 'ref', (item) => (item.n === 2 ? [] : [item.ref, `n${item.n}`])),
    derivations: [],
    folds: false,
    cyclic: roll.chance(0.25),
    failures: roll.chance(0.7),
  };
  const sinks = new Set<Derivation<unknown>>();
  const count = 3 + roll.below(4);
  for (let i = 0; i < count; i++) {
    const sink = i === count - 1 || roll.chance(0.4);
    const derivation = addDerivation(engine, roll, context, i, count, sink);
    context.derivations.push(derivation);
    if (sink) sinks.add(derivation);
  }
  const roots = 1 + roll.below(3);
  for (let i = 0; i < roots; i++) engine.each(items, randomWhere(roll, context, 'p/a'), roll.pick(context.derivations));
  engine.hold(roll.pick(context.derivations), roll.pick(KEYS));
  engine.hold(context.derivations[count - 1] as Derivation<unknown>, 'q/b');
  return { items, facts, derivations: context.derivations, sinks, demanded, demandedLists, folds: context.folds };
}

export function randomItem(roll: Dice): Item {
  const labels: Record<string, string> = {};
  if (roll.chance(0.8)) labels.app = roll.pick(['x', 'y', 'z']);
  if (roll.chance(0.4)) labels.tier = roll.pick(['1', '2']);
  return { n: roll.below(5), labels, ref: roll.pick(KEYS), status: roll.below(100) };
}

export function settledText(settled: Settled<unknown> | undefined): string {
  if (settled === undefined) return 'none';
  if (settled.state === 'value') return `value ${canonicalJson(settled.value)}`;
  if (settled.state === 'error') return `error ${settled.error.message}`;
  return `suspended ${settled.waitingFor.join()}`;
}

interface Context {
  items: Table<Item>;
  facts: Table<number>;
  byRef: Index<Item>;
  derivations: Derivation<unknown>[];
  folds: boolean;
  cyclic: boolean;
  failures: boolean;
}

type Step = (key: string, item: Item | undefined, read: Tracker) => unknown;

function addDerivation(
  engine: Engine,
  roll: Dice,
  context: Context,
  i: number,
  count: number,
  sink: boolean,
): Derivation<unknown> {
  const kind = i === 0 ? 0 : roll.below(7);
  if (kind === 6) return addFold(engine, roll, context, i, sink);
  const steps: Step[] = [];
  for (let s = 1 + roll.below(3); s > 0; s--) steps.push(randomStep(roll, context, i, count));
  const coarse = roll.chance(0.4);
  const projectItem = roll.pick(ITEM_PROJECTIONS);
  const throwing = context.failures && roll.chance(0.4);
  const handling = roll.chance(0.15);
  return engine.derive<unknown>({
    name: `d${i}`,
    sink,
    ...(roll.chance(0.3) ? { onCycle: (members: readonly string[]) => ({ cycle: members.length }) } : {}),
    compute(key, read) {
      const seen = projectItem === undefined ? read.get(context.items, key) : read.get(context.items, key, projectItem);
      const item = projectItem === undefined ? (seen as Item | undefined) : undefined;
      if (throwing && (seen as Partial<Item> | undefined)?.n === 4) throw new Error(`d${i}(${key}) has 4`);
      const found: unknown[] = [seen];
      for (const step of steps) {
        try {
          found.push(step(key, item, read));
        } catch (error) {
          // A computation may handle the errors of others; it must not get around suspension by it.
          if (!handling) throw error;
          found.push('handled');
        }
      }
      return coarse ? canonicalJson(found).length % 3 : found;
    },
  });
}

function addFold(engine: Engine, roll: Dice, context: Context, i: number, sink: boolean): Derivation<unknown> {
  const part = roll.chance(0.5) ? roll.pick(context.derivations) : roll.pick([numberOf, labelsOf]);
  const everywhere = roll.chance(0.5);
  context.folds = true;
  const options = {
    name: `d${i}`,
    sink,
    over: (key: string) => ({ table: context.items, where: everywhere ? {} : { namespace: key.slice(0, 1) } }),
    part: part as Derivation<unknown>,
    empty: () => new Map<string, unknown>(),
    put(state: Map<string, unknown>, member: string, value: unknown, previous: unknown) {
      if (!Object.is(state.get(member), previous)) throw new Error('a fold got a wrong previous part');
      state.set(member, value);
    },
    remove(state: Map<string, unknown>, member: string, value: unknown) {
      if (!Object.is(state.get(member), value)) throw new Error('a fold got a wrong part');
      state.delete(member);
    },
    result: (state: Map<string, unknown>) => [...state].sort(([a], [b]) => (a < b ? -1 : 1)),
  };
  return engine.fold(roll.chance(0.5) ? { ...options, clone: (state) => new Map(state) } : options);
}

const numberOf: Projection<Item> = (item) => item.n;
const labelsOf: Projection<Item> = (item) => ({ labels: item.labels });
const pickyOf: Projection<Item> = (item) => {
  if (item.n === 3) throw new Error('no threes');
  return item.ref;
};
const isOdd = (item: Item) => item.n % 2 === 1;
const ITEM_PROJECTIONS = [undefined, undefined, numberOf, labelsOf, fields('n', 'labels.app'), pickyOf] as const;
const RESULT_PROJECTIONS: (Projection | undefined)[] = [undefined, (value) => canonicalJson(value).length % 4];

function randomStep(roll: Dice, context: Context, i: number, count: number): Step {
  const { items, facts, byRef } = context;
  const project = roll.pick(ITEM_PROJECTIONS);
  const projectResult = roll.pick(RESULT_PROJECTIONS);
  const fixed = roll.pick(KEYS);
  const target = (key: string, item: Item | undefined) =>
    item === undefined ? (isEven(key) ? key : fixed) : item.n > 1 ? item.ref : fixed;
  const where = (key: string) => randomWhere(dice(whereSeed), context, key);
  const whereSeed = roll.below(1000);
  const fact = roll.pick(FACTS);
  const kind = roll.below(9);
  if (kind === 0) {
    return (key, item, read) =>
      project === undefined ? read.get(items, target(key, item)) : read.get(items, target(key, item), project);
  }
  if (kind === 1) {
    return (key, _item, read) => (project ? read.list(items, where(key), project) : read.list(items, where(key)));
  }
  if (kind === 2) return (key, _item, read) => read.keys(items, where(key));
  if (kind === 3) {
    return (key, item, read) => {
      const value = item === undefined ? key : item.n > 2 ? `n${item.n}` : key;
      return project === undefined ? read.by(byRef, value) : read.by(byRef, value, project);
    };
  }
  if (kind === 4) return (key, item, read) => read.state(items, target(key, item));
  if (kind === 5 && context.failures) {
    return (_key, item, read) => (item === undefined || item.n < 2 ? read.get(facts, fact) : read.state(facts, fact));
  }
  // A derivation that comes before, or in cyclic graphs any.
  const reach = context.cyclic && roll.chance(0.5) ? count : i;
  if (reach === 0) return (key, _item, read) => read.keys(items, where(key));
  const which = roll.below(reach);
  const asks = roll.chance(0.2);
  return (key, item, read) => {
    const derivation = context.derivations[which] as Derivation<unknown>;
    const at = target(key, item);
    if (asks) return settledText(read.settled(derivation, at));
    return projectResult === undefined ? read.derived(derivation, at) : read.derived(derivation, at, projectResult);
  };
}

function isEven(key: string): boolean {
  return key.charCodeAt(2) % 2 === 0;
}

function randomWhere(roll: Dice, context: Context, key: string): Where<Item> {
  const where: { -readonly [K in keyof Where<Item>]: Where<Item>[K] } = {};
  if (roll.chance(0.4)) where.namespace = key.slice(0, 1);
  if (roll.chance(0.6)) where.selector = randomSelector(roll);
  if (roll.chance(0.15)) where.index = [context.byRef, roll.pick(KEYS)];
  if (roll.chance(0.15)) where.where = isOdd;
  return where;
}

function whereText({ namespace, selector, index, where }: Where<Item>): string {
  return [namespace, selector?.canonical, index?.[0].name, index?.[1], where?.name].join('|');
}

function randomSelector(roll: Dice): Selector {
  const terms: SelectorTerm[] = [];
  for (let t = 1 + roll.below(2); t > 0; t--) {
    const key = roll.pick(['app', 'tier']);
    const values =
      key === 'app' ? roll.pick([['x'], ['x', 'y'], ['z', 'y', 'x'], ['w']]) : roll.pick([['1'], ['1', '2']]);
    const operator = roll.pick(['In', 'In', 'NotIn', 'Exists', 'DoesNotExist'] as const);
    terms.push({ key, operator, values: operator === 'In' || operator === 'NotIn' ? values : [] });
  }
  return {
    terms,
    canonical: terms.map(({ key, operator, values }) => `${key} ${operator} ${values.join('/')}`).join(','),
    matches: (labels = {}) => terms.every((term) => satisfies(term, labels[term.key])),
  };
}

function satisfies({ operator, values }: SelectorTerm, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}
