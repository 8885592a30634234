import type { ChunkedOptions, ChunkPart, Derivation, Engine, Projection, Tracker } from './engine-types.ts';
import type { DerivationState } from './graph/model.ts';
import type { Where } from './graph/where.ts';

/**
 * A derivation over many members in two steps: members fall into chunks by a hash of their key, each chunk is a node,
 * and one node joins the chunks. A change then reads one chunk and the list of chunks instead of every member.
 */
export function createChunked<V, P, C, R>(engine: Engine, options: ChunkedOptions<V, P, C, R>): Derivation<R> {
  const { name, table, where = {}, chunks = 128 } = options;
  const byChunk = engine.index(table, `chunk of ${name}`, (_value, key) => [String(chunkOf(key, chunks))]);
  const partsOf = partReader(options);
  const chunk = engine.derive<C>({
    name: `${name} chunk`,
    compute: (number, read) => options.chunk(partsOf(read, { ...where, index: [byChunk, number] })),
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

function partReader<V, P, C, R>({
  table,
  part,
}: ChunkedOptions<V, P, C, R>): (read: Tracker, members: Where<V>) => readonly ChunkPart<P>[] {
  if (typeof part === 'function') {
    // One function per chunked derivation, so that its reads keep their edges.
    const withKey: Projection<V, ChunkPart<P>> = (value, key) => ({ key, part: part(value, key) });
    return (read, members) => read.list(table, members, withKey);
  }
  return (read, members) => read.keys(table, members).map((key) => ({ key, part: read.derived(part, key) }));
}

/** FNV-1a over the code units: stable between processes, even enough for chunks. */
function chunkOf(key: string, chunks: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % chunks;
}
