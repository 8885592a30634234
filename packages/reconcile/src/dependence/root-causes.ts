// The root causes of unhealthy objects. Input: the problems, and for each of them its dependencies. A root is a problem that depends on no
// other problem; problems that depend on each other in a circle count as one. An object that is in progress is never a root, and neither is
// a step between objects (a derivation), but both are walked through.

/**
 * `broken` needs attention. `absent` is a missing object that a broken object names. `progress` changes by itself. Undefined: no problem,
 * but its dependencies count for its dependents.
 */
export type CauseState = 'broken' | 'absent' | 'progress' | undefined;

export interface CauseGraph {
  /** Where the walk starts. */
  readonly problems: Iterable<string>;
  stateOf(id: string): CauseState;
  /** Direct dependencies. Healthy ones are left out. */
  dependsOn(id: string): Iterable<string>;
}

export interface RootCause {
  readonly id: string;
  /** The other problems of its circle, if it is in one. */
  readonly circle: readonly string[];
  /** Problems, also those in progress, that depend on it directly or through others, in the order of their distance. */
  readonly affects: readonly string[];
}

export interface RootCauses {
  /** The one that affects most comes first. */
  readonly roots: readonly RootCause[];
  /** The nearest problems that a problem depends on; none for a root. Steps and objects in progress are walked through. */
  causesOf(id: string): readonly string[];
}

/** The limit of steps for counting all objects that roots affect; further roots show only their direct dependents. */
const MAX_STEPS = 2_000_000;

export function rootCauses(graph: CauseGraph): RootCauses {
  const { components, componentOf, edges } = condense(graph);
  const isCause = (id: string) => {
    const state = graph.stateOf(id);
    return state === 'broken' || state === 'absent';
  };
  const isProblem = (id: string) => graph.stateOf(id) !== undefined;
  // Components come with those first that others depend on, so one pass is enough.
  const counts: boolean[] = [];
  const hasCause: boolean[] = [];
  for (const [at, members] of components.entries()) {
    counts[at] = members.some(isCause);
    const below = members.flatMap((id) => (edges.get(id) ?? []).map((to) => componentOf.get(to) ?? at));
    hasCause[at] = below.some((to) => to !== at && (counts[to] === true || hasCause[to] === true));
  }
  const readers = inverse(edges);
  let steps = 0;
  const roots = components.flatMap((members, at): RootCause[] => {
    if (!counts[at] || hasCause[at]) return [];
    // An absent object explains the others of its circle, and not the other way round.
    const causes = members.filter(isCause);
    const id = causes.find((one) => graph.stateOf(one) === 'absent') ?? causes.toSorted()[0] ?? '';
    const circle = members.filter((one) => one !== id && isProblem(one));
    const reached = new Set([id]);
    for (const one of reached) {
      if (++steps > MAX_STEPS && one !== id) break;
      for (const reader of readers.get(one) ?? []) reached.add(reader);
    }
    return [{ id, circle, affects: [...reached].filter((one) => one !== id && isProblem(one)) }];
  });
  return {
    roots: roots.toSorted((a, b) => b.affects.length - a.affects.length || (a.id < b.id ? -1 : 1)),
    causesOf(id) {
      const found = new Set<string>();
      const seen = new Set([id]);
      for (const one of seen) {
        for (const to of edges.get(one) ?? []) {
          if (isCause(to) && to !== id) found.add(to);
          else seen.add(to);
        }
      }
      return [...found];
    },
  };
}

interface Condensed {
  /** Strongly connected, each after all that it depends on. */
  readonly components: readonly (readonly string[])[];
  readonly componentOf: ReadonlyMap<string, number>;
  readonly edges: ReadonlyMap<string, readonly string[]>;
}

/** Tarjan's algorithm without recursion: chains of dependencies may be longer than the stack is deep. */
function condense(graph: CauseGraph): Condensed {
  const edges = new Map<string, readonly string[]>();
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const componentOf = new Map<string, number>();
  const components: string[][] = [];
  const open: string[] = [];
  const path: { readonly id: string; next: number }[] = [];
  const enter = (id: string) => {
    edges.set(id, [...new Set(graph.dependsOn(id))]);
    order.set(id, order.size);
    low.set(id, order.get(id) ?? 0);
    open.push(id);
    path.push({ id, next: 0 });
  };
  const lower = (id: string, value: number) => low.set(id, Math.min(low.get(id) ?? value, value));
  for (const start of graph.problems) {
    if (!order.has(start)) enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const to = edges.get(top.id)?.[top.next++];
      if (to !== undefined) {
        if (!order.has(to)) enter(to);
        else if (!componentOf.has(to)) lower(top.id, order.get(to) ?? 0);
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent !== undefined) lower(parent.id, low.get(top.id) ?? 0);
      if (low.get(top.id) === order.get(top.id)) components.push(closed(top.id, open, componentOf, components.length));
    }
  }
  return { components, componentOf, edges };
}

/** Takes the members of a component, which end the list of open ones. */
function closed(id: string, open: string[], componentOf: Map<string, number>, at: number): string[] {
  const members = open.splice(open.lastIndexOf(id));
  for (const member of members) componentOf.set(member, at);
  return members;
}

function inverse(edges: ReadonlyMap<string, readonly string[]>): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [from, all] of edges) {
    for (const to of all) {
      const known = found.get(to);
      if (known === undefined) found.set(to, [from]);
      else known.push(from);
    }
  }
  return found;
}
