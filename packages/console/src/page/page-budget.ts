// The sizes that a build of the page must keep: the console loads at once, or it is not built.
import { gzipSync } from 'node:zlib';
import { ConsoleErrors } from '../errors.ts';
import { INDEX, type PageFile } from './page-files.ts';

/** The document, the style sheet, and every script that the first one imports, compressed. */
export const FIRST_LOAD_BYTES = 60 * 1024;
/** A chunk that loads later, as that of the editor. */
export const CHUNK_BYTES = 140 * 1024;

/** The outputs of a build as esbuild describes them. */
export type Outputs = Readonly<
  Record<string, { readonly imports: readonly { readonly path: string; readonly kind: string }[] }>
>;

export interface PageSizes {
  readonly firstLoad: number;
  readonly largestChunk: number;
}

/** Throws for a page that is larger than its budget. */
export function checkBudget(files: readonly PageFile[], outputs: Outputs): PageSizes {
  const sizes = new Map(files.map(({ path, bytes }) => [path, gzipSync(bytes).length]));
  // Paths of outputs are relative to the working directory; names have hashes and are unique.
  const sizeOf = (path: string) => sizes.get(`/assets/${nameOf(path)}`) ?? 0;
  const entries = Object.keys(outputs).filter((path) => /^(?:main|style)\./.test(nameOf(path)));
  const first = new Set(entries);
  for (const path of first)
    for (const { path: imported, kind } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement') first.add(imported);
  let firstLoad = sizes.get(INDEX) ?? 0;
  for (const path of first) firstLoad += sizeOf(path);
  const largestChunk = Object.keys(outputs).reduce(
    (most, path) => (first.has(path) ? most : Math.max(most, sizeOf(path))),
    0,
  );
  if (firstLoad > FIRST_LOAD_BYTES) throw ConsoleErrors.TooLarge('the first load', firstLoad, FIRST_LOAD_BYTES);
  if (largestChunk > CHUNK_BYTES) throw ConsoleErrors.TooLarge('a chunk', largestChunk, CHUNK_BYTES);
  return { firstLoad, largestChunk };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
