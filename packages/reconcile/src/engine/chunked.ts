import type { ChunkedOptions, ChunkPart, Derivation, Engine } from './engine-types.ts';
import type { DerivationState } from './graph/model.ts';

/**
 * A derivation over many members in two steps: members fall into chunks by a hash of their key, each chunk is a node,
 * and one node joins the chunks. A change then reads one chunk and the list of chunks instead of every member.
 */
export function createChunked<V, P, C, R>(engine: Engine, options: ChunkedOptions<V, P, C, R>): Derivation<R> {
  const { name, table, where = {}, chunks = 128 } = options;
  const byChunk = engine.index(table, `chunk of ${name}`, (_value, key) => [String(chunkOf(key, chunks))]);
  // A fold, which leaves out the members that fail and shows the error on them.
  const chunk = engine.fold<Map<string, P>, P, C, V>({
    name: `${name} chunk`,
    over: (number) => ({ table, where: { ...where, index: [byChunk, number] } }),
    part: options.part,
    empty: () => new Map(),
    clone: (state) => new Map(state),
    put: (state, key, part) => void state.set(key, part),
    remove: (state, key) => void state.delete(key),
    result: (state) => options.chunk(inOrder(state)),
  });
  const joined = engine.derive<R>({
    name,
    sink: options.sink ?? false,
    ...(options.owner === undefined ? {} : { owner: options.owner }),
    compute(_key, read) {
      const values: C[] = [];
      for (let i = 0; i < chunks; i++) values.push(read.derived(chunk, String(i)));
      return options.join(values);
    },
  });
  (joined as unknown as DerivationState).part = chunk as unknown as DerivationState;
  return joined;
}

function inOrder<P>(parts: ReadonlyMap<string, P>): readonly ChunkPart<P>[] {
  return Array.from(parts, ([key, part]) => ({ key, part })).sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** FNV-1a over the code units: stable between processes, even enough for chunks. */
function chunkOf(key: string, chunks: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % chunks;
}
