// Sets of fields, as managedFields keep them: a trie whose edges are written as in FieldsV1 (`f:name`, `k:{"name":"x"}`,
// `v:"x"`, `i:0`), so that reading and writing the stored form is a walk. Sets are never changed once a user holds them.

export interface FieldSet {
  /** Edges whose end is in the set itself. */
  readonly members: ReadonlySet<string>;
  /** Edges below which something is in the set. Never empty sets. */
  readonly children: ReadonlyMap<string, FieldSet>;
}

export type FieldsV1 = { [edge: string]: FieldsV1 };

const NO_MEMBERS: ReadonlySet<string> = new Set();
const NO_CHILDREN: ReadonlyMap<string, FieldSet> = new Map();
export const EMPTY: FieldSet = { members: NO_MEMBERS, children: NO_CHILDREN };

export const isEmpty = (set: FieldSet) => set.members.size === 0 && set.children.size === 0;

/** A set under construction. */
export interface FieldSetBuilder {
  members: Set<string>;
  children: Map<string, FieldSetBuilder>;
}

export const newBuilder = (): FieldSetBuilder => ({ members: new Set(), children: new Map() });

export function childOf(builder: FieldSetBuilder, edge: string): FieldSetBuilder {
  let child = builder.children.get(edge);
  if (!child) {
    child = newBuilder();
    builder.children.set(edge, child);
  }
  return child;
}

/** The set that was built, without the branches in which nothing is. */
export function finish(builder: FieldSetBuilder): FieldSet {
  for (const [edge, child] of builder.children) {
    finish(child);
    if (isEmpty(child)) builder.children.delete(edge);
  }
  return builder;
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a)) return b;
  if (isEmpty(b) || a === b) return a;
  const children = new Map(a.children);
  for (const [edge, child] of b.children) {
    const other = children.get(edge);
    children.set(edge, other ? union(other, child) : child);
  }
  return { members: new Set([...a.members, ...b.members]), children };
}

/** Returns the fields of `a` that are not in `b`. Fields below a field of `b` stay. Returns `a` itself if they have nothing in common. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a;
  let children: Map<string, FieldSet> | undefined;
  for (const [edge, other] of b.children) {
    const child = a.children.get(edge);
    if (!child) continue;
    const rest = difference(child, other);
    if (rest === child) continue;
    children ??= new Map(a.children);
    if (isEmpty(rest)) children.delete(edge);
    else children.set(edge, rest);
  }
  let members: Set<string> | undefined;
  for (const edge of b.members) {
    if (!a.members.has(edge)) continue;
    members ??= new Set(a.members);
    members.delete(edge);
  }
  return children || members ? { members: members ?? a.members, children: children ?? a.children } : a;
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of a.children) {
    const other = b.children.get(edge);
    if (!other) continue;
    const common = intersection(child, other);
    if (!isEmpty(common)) children.set(edge, common);
  }
  return { members: new Set([...a.members].filter((edge) => b.members.has(edge))), children };
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.members.size !== b.members.size || a.children.size !== b.children.size) return false;
  for (const edge of a.members) if (!b.members.has(edge)) return false;
  for (const [edge, child] of a.children) {
    const other = b.children.get(edge);
    if (!other || !equalSets(child, other)) return false;
  }
  return true;
}

/** Every path in the set, in order. */
export function* pathsOf(set: FieldSet, before: readonly string[] = []): Generator<readonly string[]> {
  for (const edge of [...set.members].sort(compareText)) yield [...before, edge];
  for (const edge of [...set.children.keys()].sort(compareText)) {
    const child = set.children.get(edge);
    if (child) yield* pathsOf(child, [...before, edge]);
  }
}

/** A path as people read it: `.spec.containers[name="main"].image`. */
export function printPath(path: readonly string[]): string {
  return path.map(printEdge).join('');
}

function printEdge(edge: string): string {
  const text = edge.slice(2);
  if (edge.startsWith('f:')) return `.${text}`;
  if (edge.startsWith('i:')) return `[${text}]`;
  if (edge.startsWith('v:')) return `[=${text}]`;
  const key = JSON.parse(text) as Record<string, unknown>;
  return `[${Object.entries(key)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',')}]`;
}

export function encodeFields(set: FieldSet): FieldsV1 {
  const result: FieldsV1 = {};
  const edges = [...set.members];
  for (const edge of set.children.keys()) if (!set.members.has(edge)) edges.push(edge);
  // Without a function, texts are compared by code units, and faster.
  if (edges.length > 1) edges.sort();
  for (const edge of edges) {
    const child = set.children.get(edge);
    if (!child) result[edge] = NOTHING_BELOW;
    else if (set.members.has(edge)) result[edge] = { '.': NOTHING_BELOW, ...encodeFields(child) };
    else result[edge] = encodeFields(child);
  }
  return result;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const NOTHING_BELOW: FieldsV1 = Object.freeze({});

/** Reads the stored form; unknown kinds of edges are skipped. */
export function decodeFields(fields: unknown): FieldSet {
  if (typeof fields !== 'object' || fields === null) return EMPTY;
  const members = new Set<string>();
  const children = new Map<string, FieldSet>();
  for (const [edge, below] of Object.entries(fields as Record<string, unknown>)) {
    if (!/^[fkvi]:/.test(edge) || typeof below !== 'object' || below === null) continue;
    const inside = Object.keys(below);
    if (inside.length === 0 || '.' in below) members.add(edge);
    const child = decodeFields(below);
    if (!isEmpty(child)) children.set(edge, child);
  }
  return { members, children };
}
