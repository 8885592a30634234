// The files of the page. An installed package has them in a folder, built and compressed; a checkout builds them when they are first asked
// for. They hold no data and need no token.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '@capstan/kube';
import { ConsoleErrors } from '../errors.ts';

export interface PageFile {
  /** From the root of the server, `/assets/main.HASH.js` for one. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Where the build writes the page in a package. */
export const PAGE_FOLDER = fileURLToPath(new URL('../../page/', import.meta.url)).replace(/[/\\]$/, '');
/** The name of the document; every path of the page that is no file has it as its answer. */
export const INDEX = '/index.html';

/** The place in the document of the nonce for styles, which is another one in each answer. */
export const NONCE_PLACE = '__CSP_NONCE__';

/** Returns the document with the nonce of its answer. */
export function withNonce(file: PageFile, nonce: string): PageFile {
  return { path: file.path, bytes: Buffer.from(Buffer.from(file.bytes).toString('utf8').replace(NONCE_PLACE, nonce)) };
}

/** Returns the files by their paths: the prebuilt ones, or those of a build. */
export async function loadPage(folder: string = PAGE_FOLDER): Promise<ReadonlyMap<string, PageFile>> {
  const prebuilt = await readPrebuilt(folder);
  if (prebuilt !== undefined) return byPath(prebuilt);
  try {
    const { buildPage } = await import('./build-page.ts');
    return byPath((await buildPage()).files);
  } catch (error) {
    throw ConsoleErrors.NoPage(folder, reasonOf(error));
  }
}

async function readPrebuilt(folder: string): Promise<PageFile[] | undefined> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return await Promise.all(
      files.map(async (file) => ({
        path: file.slice(folder.length).replaceAll('\\', '/'),
        bytes: await readFile(file),
      })),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function byPath(files: readonly PageFile[]): ReadonlyMap<string, PageFile> {
  return new Map(files.map((file) => [file.path, file]));
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The headers of a file. Names with a hash never change their content. */
export function fileHeaders({ path, bytes }: PageFile): Record<string, string> {
  return {
    'content-type': TYPES[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    'content-length': String(bytes.length),
    'cache-control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
}
