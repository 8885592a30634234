// Dependence between objects, from recorded reads: the plan of an object reads others, directly or through derivations. A walk over
// edges; nothing is kept between calls, so it costs nothing while no caller asks.
import { kindId } from '@capstan/kube/cluster';
import type { Derivation, Presence, Reading, Table } from '../engine/index.ts';
import type { Runtime } from '../runtime/index.ts';

export interface ObjectId {
  /** The world's name; '' for the local cluster. */
  readonly world: string;
  /** `Kind.group`; `fact NAME` or `source NAME` for values from outside of clusters. */
  readonly kind: string;
  /** `namespace/name` or `name`. */
  readonly key: string;
}

/** A step of the walk: an object, or a node of the engine. */
export interface ObjectRead extends ObjectId {
  readonly presence: Presence;
  /** Names of the projections, sorted; '' where the whole object is read. */
  readonly projections: readonly string[];
  /** The derivations between the object and the plan, as `name(key)`; the plan's own is left out. */
  readonly via: readonly string[];
  /** Found as a member of a list. */
  readonly isListed: boolean;
}

export interface ObjectReader extends ObjectId {
  /** `operator.reconciler`, or the id of a sink. */
  readonly by: string;
  /** A sink reads it: the key is one of the sink's. */
  readonly isSink: boolean;
  readonly via: readonly string[];
}

export interface ObjectGraph {
  /**
   * Returns the reads of an object's plans, each object once. With a set of nodes, those in it are not walked, and those that are walked are
   * added: of many objects that are computed together, the first one has their common reads.
   */
  readsOf(id: ObjectId, walked?: NodeSet): readonly ObjectRead[];
  /** The objects whose plans read an object, and the keys of sinks that do; the inverse of `readsOf`. */
  readersOf(id: ObjectId): readonly ObjectReader[];
  /** The same in steps of the engine, for walks over the whole graph that visit each node once. */
  readonly steps: GraphSteps;
}

export interface GraphNode {
  readonly derivation: Derivation<unknown>;
  readonly key: string;
}

export interface GraphSteps {
  /** The plans of an object. */
  plansOf(id: ObjectId): readonly GraphNode[];
  /** Objects and nodes that a node reads. */
  readsOf(node: GraphNode): Iterable<{ readonly node: GraphNode } | { readonly object: ObjectRead }>;
}

export function formatObjectId({ world, kind, key }: ObjectId): string {
  return `${world === '' ? '' : `${world}/`}${kind} ${key}`;
}

/** To be created when it is needed, and not kept: it knows the worlds, the bindings and the reads of that moment. */
export function objectGraph(runtime: Runtime): ObjectGraph {
  const { engine } = runtime;
  const places = new Map<string, Omit<ObjectId, 'key'>>();
  const tables = new Map<string, Table<never>[]>();
  for (const world of runtime.worlds.values()) {
    for (const kind of world.kinds) {
      for (const table of new Set([world.readTable(kind), world.childTable(kind)])) {
        if (table === undefined) continue;
        places.set(table.name, { world: world.name, kind: kindId(kind) });
        const at = placeName(world.name, kindId(kind));
        tables.set(at, [...(tables.get(at) ?? []), table as Table<never>]);
      }
    }
  }
  const outside = /^(?:fact|source) /;
  const placeOf = (table: string) =>
    places.get(table) ?? (outside.test(table) ? { world: '', kind: table } : undefined);
  const bindings = new Map<Derivation<unknown>, (typeof runtime.bindings)[number]>(
    runtime.bindings.map((binding) => [binding.plans, binding]),
  );
  const sinks = new Map<Derivation<unknown>, (typeof runtime.sinks)[number]>(
    runtime.sinks.map((sink) => [sink.derivation, sink]),
  );
  const plansByKind = new Map<string, Derivation<unknown>[]>();
  for (const { plans, world, reconciler } of runtime.bindings) {
    const at = placeName(world.name, kindId(reconciler.resource));
    plansByKind.set(at, [...(plansByKind.get(at) ?? []), plans]);
  }

  const steps: GraphSteps = {
    plansOf: ({ world, kind, key }) =>
      (plansByKind.get(placeName(world, kind)) ?? []).map((derivation) => ({ derivation, key })),
    *readsOf({ derivation, key }) {
      for (const read of engine.readsOf(derivation, key)) {
        if (read.kind === 'derived') {
          yield { node: { derivation: read.derivation, key: read.key } };
          continue;
        }
        const place = placeOf(read.table);
        if (place === undefined) continue;
        for (const object of objectsIn(read)) {
          yield {
            object: {
              ...place,
              key: object,
              presence: read.kind === 'object' ? read.presence : 'known',
              projections: [read.projection],
              via: [],
              isListed: read.kind === 'list',
            },
          };
        }
      }
    },
  };

  /** Many objects are computed through the same nodes: each is read once. */
  const known = new Map<Derivation<unknown>, Map<string, readonly NamedStep[]>>();
  function namedStepsOf(node: GraphNode): readonly NamedStep[] {
    const keys = known.get(node.derivation) ?? new Map<string, readonly NamedStep[]>();
    known.set(node.derivation, keys);
    const found =
      keys.get(node.key) ??
      Array.from(
        steps.readsOf(node),
        (step): NamedStep =>
          'node' in step
            ? { node: step.node, name: nodeText(step.node) }
            : { ...step, name: formatObjectId(step.object) },
      );
    keys.set(node.key, found);
    return found;
  }

  function readsOf(id: ObjectId, seen: NodeSet = createNodeSet()): readonly ObjectRead[] {
    const found = new Map<string, ObjectRead>();
    const own = formatObjectId(id);
    const pending = steps.plansOf(id).map((node) => ({ node, via: [] as readonly string[] }));
    for (const { node } of pending) seen.add(node);
    // The list grows while it is walked: breadth first, so that the shortest way is kept.
    for (const { node, via } of pending) {
      for (const step of namedStepsOf(node)) {
        const { name } = step;
        if ('node' in step) {
          if (seen.add(step.node)) pending.push({ node: step.node, via: [name, ...via] });
          continue;
        }
        if (name === own) continue;
        const earlier = found.get(name);
        if (earlier === undefined) {
          found.set(name, { ...step.object, via });
          continue;
        }
        found.set(name, {
          ...earlier,
          projections: [...new Set([...earlier.projections, ...step.object.projections])].sort(),
          isListed: step.object.isListed && earlier.isListed,
        });
      }
    }
    return [...found.values()];
  }

  function readersOf(id: ObjectId): readonly ObjectReader[] {
    const own = formatObjectId(id);
    const found = new Map<string, ObjectReader>();
    const seen = createNodeSet();
    const pending: { node: GraphNode; via: readonly string[] }[] = [];
    const follow = (source: Table<never> | Derivation<unknown>, key: string, via: readonly string[]) => {
      for (const { derivation, key: at } of engine.readersOf(source, key)) {
        const node = { derivation, key: at };
        if (seen.add(node)) pending.push({ node, via });
      }
    };
    for (const table of tables.get(placeName(id.world, id.kind)) ?? []) follow(table, id.key, []);
    for (const { node, via } of pending) {
      const binding = bindings.get(node.derivation);
      const sink = sinks.get(node.derivation);
      if (binding !== undefined) {
        const owner = { world: binding.world.name, kind: kindId(binding.reconciler.resource), key: node.key };
        const name = formatObjectId(owner);
        if (name !== own && !found.has(name)) found.set(name, { ...owner, by: binding.id, isSink: false, via });
        continue;
      }
      if (sink !== undefined) {
        const name = `${sink.id} ${node.key}`;
        found.set(name, { world: sink.world.name, kind: sink.id, key: node.key, by: sink.id, isSink: true, via });
      }
      follow(node.derivation, node.key, [...via, nodeText(node)]);
    }
    return [...found.values()];
  }

  return { readsOf, readersOf, steps };
}

type NamedStep =
  | { readonly node: GraphNode; readonly name: string }
  | { readonly object: ObjectRead; readonly name: string };

function placeName(world: string, kind: string): string {
  return `${world}/${kind}`;
}

function objectsIn(read: Exclude<Reading, { kind: 'derived' }>): readonly string[] {
  return read.kind === 'object' ? [read.key] : read.members;
}

function nodeText({ derivation, key }: GraphNode): string {
  return `${derivation.name}(${key})`;
}

export interface NodeSet {
  /** Returns false for a node that is in the set already. */
  add(node: GraphNode): boolean;
}

/** Nodes by identity of their derivation: two worlds may have derivations of one name. */
export function createNodeSet(): NodeSet {
  const known = new Map<Derivation<unknown>, Set<string>>();
  return {
    add({ derivation, key }) {
      const keys = known.get(derivation) ?? new Set<string>();
      known.set(derivation, keys);
      return keys.size !== keys.add(key).size;
    },
  };
}
