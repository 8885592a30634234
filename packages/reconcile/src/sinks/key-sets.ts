// Keeps the keys of a sink evaluated: holds the derivation for every key that its key sets name, and knows when all of them are named. Each
// set costs its changes.
import { type Kind, kindId } from '@capstan/kube/cluster';
import type { Change, Derivation, Engine, Root } from '../engine/index.ts';
import { ReadErrors } from '../errors.ts';
import { unmarked } from '../read/engine-projections.ts';
import type { KindIndex } from '../read/kind-index.ts';
import { type ReadSources } from '../read/read-sources.ts';
import { bindDerived } from '../read/world-reader.ts';
import type { World } from '../worlds/world.ts';
import type { EachKeys, KeySet, SinkDefinition } from './sink.ts';

export interface KeySets {
  /** Takes a change of a derivation that names keys; false when it is none of these. */
  take(change: Change): boolean;
  /** Whether every key is named: lists are known and nothing that names keys waits. */
  readonly isComplete: boolean;
  /** Whose changes it takes. */
  readonly derivations: readonly Derivation<unknown>[];
  /** How many name a key, objects of a kind that is a key set not counted. */
  named(key: string): number;
  stop(): void;
}

export interface KeySetsOptions {
  engine: Engine;
  sources: ReadSources;
  world: World;
  operator: string;
  /** `operator.sink`, for the names of nodes. */
  id: string;
  sink: SinkDefinition;
  /** The engine's derivation of the sink's values. */
  delivered: Derivation<unknown>;
  /** A key is named that was not, by a new object or by one that named others before. It is evaluated in the next wave. */
  onNamed(key: string, isByNew: boolean): void;
  onDropped(key: string): void;
}

export function createKeySets(options: KeySetsOptions): KeySets {
  const { engine, sources, world, operator, id, sink, delivered } = options;
  const sets = Array.isArray(sink.keys) ? (sink.keys as readonly KeySet[]) : [sink.keys as KeySet];
  const roots: Root[] = [];
  /** The names of keys, by the derivation that names them: for each of its nodes, the keys and their roots. */
  const naming = new Map<unknown, Map<string, Held>>();
  const counts = new Map<string, number>();
  const waiting = new Set<string>();
  let isListed = false;

  for (const set of sets) start(set);
  const gate = engine.derive<true>({
    name: `keys of ${id} are listed`,
    sink: true,
    compute(_key, tracker) {
      for (const set of sets) {
        const kind = kindOf(set);
        if (kind === undefined) continue;
        // An optional kind that is not served has no keys.
        const isServed = !isOptional(sink, kind) || tracker.get(world.access, kindId(kind)) === 'served';
        if (isServed) tracker.get(tableOf(kind), NO_KEY);
      }
      return true;
    },
  });
  roots.push(engine.hold(gate, ''));

  function start(set: KeySet): void {
    if ('plural' in set) {
      roots.push(engine.each(tableOf(set), {}, delivered));
    } else if ('keysOf' in set) {
      name(indexKeys(set), set.kind);
    } else if ('each' in set) {
      const keys = bindDerived(sources, world, operator, set.keys);
      name({ name: `keys of ${id} by ${set.keys.name}`, of: (key, tracker) => tracker.derived(keys, key) }, set.each);
    } else {
      const keys = bindDerived(sources, world, operator, set);
      name({ name: `keys of ${id} by ${set.name}`, of: (key, tracker) => tracker.derived(keys, key) }, undefined);
    }
  }

  function indexKeys(index: KindIndex): NamedKeys {
    const table = tableOf(index.kind);
    const project = (object: Parameters<KindIndex['keysOf']>[0]) => index.keysOf(object);
    return {
      name: `keys of ${id} by ${index.name}`,
      of: (key, tracker) => tracker.get(table, key, project) ?? [],
    };
  }

  function name(keys: NamedKeys, each: Kind | undefined): void {
    const derivation = engine.derive<readonly string[]>({
      name: keys.name,
      sink: true,
      compute: (key, tracker) => [...new Set(unmarked(keys.of(key, tracker)) as readonly string[])].toSorted(),
    });
    naming.set(derivation, new Map());
    if (each !== undefined) {
      roots.push(engine.each(tableOf(each), {}, derivation));
      return;
    }
    waiting.add(`${keys.name} `);
    roots.push(engine.hold(derivation, ''));
  }

  function tableOf(kind: Kind) {
    const table = world.readTable(kind) ?? world.childTable(kind);
    if (table === undefined) throw ReadErrors.Undeclared(id, kindId(kind));
    return table;
  }

  return {
    take({ derivation, key, before, after }) {
      if (derivation === gate) {
        isListed = after?.state === 'value';
        return true;
      }
      const members = naming.get(derivation);
      if (members === undefined) return false;
      const node = `${derivation.name} ${key}`;
      waiting.delete(node);
      // A node that cannot be evaluated, or threw, keeps its former names.
      if (after?.state === 'suspended') waiting.add(node);
      if (after !== undefined && after.state !== 'value') return true;
      const held = new Map(members.get(key));
      const wanted = new Set(after?.value as readonly string[] | undefined);
      for (const one of wanted) {
        if (held.has(one)) continue;
        held.set(one, engine.hold(delivered, one));
        counts.set(one, (counts.get(one) ?? 0) + 1);
        options.onNamed(one, before === undefined);
      }
      for (const [one, root] of held) {
        if (wanted.has(one)) continue;
        held.delete(one);
        root.stop();
        const left = (counts.get(one) ?? 1) - 1;
        if (left > 0) counts.set(one, left);
        else counts.delete(one);
        options.onDropped(one);
      }
      if (held.size > 0) members.set(key, held.size > 1 ? held : [...held]);
      else members.delete(key);
      return true;
    },
    derivations: [gate, ...([...naming.keys()] as Derivation<unknown>[])],
    named: (key) => counts.get(key) ?? 0,
    get isComplete() {
      return isListed && waiting.size === 0;
    },
    stop() {
      for (const root of roots) root.stop();
      for (const members of naming.values())
        for (const held of members.values()) for (const [, root] of held) root.stop();
      engine.retire(gate, ...([...naming.keys()] as Derivation<unknown>[]));
      naming.clear();
    },
  };
}

/** Keys with their roots. Most objects name one key, and a map for one takes five times as much as a list. */
type Held = ReadonlyMap<string, Root> | readonly (readonly [string, Root])[];

interface NamedKeys {
  readonly name: string;
  of(key: string, tracker: Parameters<Parameters<Engine['derive']>[0]['compute']>[1]): unknown;
}

/** No object has it: a read of it waits until the table is listed. */
const NO_KEY = '\u0000';

function kindOf(set: KeySet): Kind | undefined {
  if ('plural' in set) return set;
  if ('keysOf' in set) return set.kind;
  return 'each' in set ? (set satisfies EachKeys).each : undefined;
}

function isOptional({ reads = [] }: SinkDefinition, kind: Kind): boolean {
  return reads.some((read) => 'reach' in read && read.optional === true && kindId(read.kind) === kindId(kind));
}
