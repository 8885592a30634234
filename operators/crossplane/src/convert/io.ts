// What the converter needs from the machine, as an argument.
import { isUtf8 } from 'node:buffer';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConvertErrors } from './errors.ts';

export interface ConvertIo {
  stdout(text: string): void;
  stderr(text: string): void;
  /** Relative paths are relative to it. */
  readonly cwd: string;
  readonly files: ConvertFiles;
}

export interface ConvertFiles {
  read(path: string): Promise<string>;
  /** The names in a folder, sorted; undefined when the path is not a folder; rejects when there is nothing. */
  list(path: string): Promise<readonly string[] | undefined>;
  stdin(): Promise<string>;
  /** Replaces the whole file; folders on the way are made. */
  write(path: string, text: string): Promise<void>;
}

/** The files of a real machine; `stdin` is the process's. */
export function systemFiles(stdin: AsyncIterable<unknown>): ConvertFiles {
  return {
    read: async (path) => textOf(await readFile(path), path),
    async list(path) {
      try {
        return (await readdir(path)).toSorted();
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return undefined;
        throw error;
      }
    },
    async stdin() {
      const chunks: Buffer[] = [];
      for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array));
      return textOf(Buffer.concat(chunks), 'the standard input');
    },
    async write(path, text) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    },
  };
}

/** What is no UTF-8 would be written back as something else. */
function textOf(bytes: Buffer, path: string): string {
  if (!isUtf8(bytes)) throw ConvertErrors.NotText(path);
  return bytes.toString('utf8');
}
