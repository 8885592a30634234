import type { Derivation, Engine, Table } from '@capstan/reconcile';

export interface ChunkedOptions<V, P> {
  readonly name: string;
  readonly table: Table<V>;
  readonly part: Derivation<P>;
}

const CHUNKS = 128;

/**
 * A derivation over many members in two steps: members fall into chunks by a hash of their key, each chunk is a node,
 * and one node joins the chunks. A change then reads one chunk and the list of chunks instead of every member.
 */
export function createChunked<V, P>(
  engine: Engine,
  { name, table, part }: ChunkedOptions<V, P>,
): Derivation<readonly (readonly P[])[]> {
  const byChunk = engine.index(table, `chunk of ${name}`, (_value, key) => [String(chunkOf(key))]);
  const chunk = engine.fold<Map<string, P>, P, readonly P[], V>({
    name: `${name} chunk`,
    over: (number) => ({ table, where: { index: [byChunk, number] } }),
    part,
    empty: () => new Map(),
    clone: (state) => new Map(state),
    put: (state, key, value) => void state.set(key, value),
    remove: (state, key) => void state.delete(key),
    result: (state) => inOrder(state),
  });
  return engine.derive({
    name,
    sink: true,
    compute: (_key, read) => Array.from({ length: CHUNKS }, (_, number) => read.derived(chunk, String(number))),
  });
}

function inOrder<P>(parts: ReadonlyMap<string, P>): readonly P[] {
  return [...parts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part);
}

/** FNV-1a over the code units: stable between processes, even enough for chunks. */
function chunkOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % CHUNKS;
}
