// The parts of the machine that the converter needs, as an argument.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { decodeText } from '@capstan/reconcile/command-line';

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
    read: async (path) => decodeText(await readFile(path), path),
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
      return decodeText(Buffer.concat(chunks), 'standard input');
    },
    async write(path, text) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    },
  };
}
