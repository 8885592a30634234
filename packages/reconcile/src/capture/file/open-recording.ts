// Opens recordings: a file that capstan capture wrote, or the folder of a program that records.
import { readFile as readBytes, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { reasonOf } from '@capstan/kube/cluster';
import { CaptureErrors } from '../errors.ts';
import type { HistoryHeader, HistoryLine } from '../history.ts';
import { type FileHeader, frameOf, headBytes, linesOf, type ReadFile, readFile } from './frames.ts';
import { FILE_SUFFIX } from './ring.ts';

export interface OpenedRecording {
  readonly header: HistoryHeader;
  readonly lines: readonly HistoryLine[];
  /** Sentences about missing parts. */
  readonly notes: readonly string[];
  readonly bytes: number;
}

/** Throws with a remedy where nothing of it can be read. */
export async function openRecording(path: string, key?: Uint8Array): Promise<OpenedRecording> {
  const { files, notes, header } = await gather(path, 0);
  const lines = files.flatMap(({ name, file }) => linesOf(file, name, key));
  if (!lines.some((line) => 'wave' in line)) throw CaptureErrors.Empty(path);
  return { header, lines, notes, bytes: files.reduce((sum, { file }) => sum + file.frames.length, 0) };
}

/** One file with everything since a time. It is not decrypted for that. */
export async function cutRecording(
  path: string,
  since: number,
): Promise<{ bytes: Buffer; notes: readonly string[]; from: string }> {
  const { files, notes, header } = await gather(path, since);
  const from = files[0]?.file.header.begun ?? header.started;
  return { bytes: Buffer.concat([headBytes(header), ...files.map(({ file }) => file.frames)]), notes, from };
}

interface Gathered {
  readonly header: FileHeader;
  readonly files: readonly { readonly name: string; readonly file: ReadFile }[];
  readonly notes: readonly string[];
}

/** The files of the last run with everything since a time. */
async function gather(path: string, since: number): Promise<Gathered> {
  const names = await namesOf(path);
  const all: { name: string; file: ReadFile }[] = [];
  const notes: string[] = [];
  for (const name of names) {
    const file = readFile(await bytesOf(name), name);
    if (file.lost > 0) notes.push(`${basename(name)} is cut off or damaged: its last ${file.lost} bytes are left out`);
    all.push({ name, file });
  }
  const run = all.at(-1)?.file.header.run;
  const ofRun = all.filter(({ file }) => file.header.run === run);
  const earlier = all.length - ofRun.length;
  // The last file that begins before the time has the snapshot for it.
  const first = Math.max(
    0,
    ofRun.findLastIndex(({ file }) => Date.parse(file.header.begun) <= since),
  );
  const files = contiguous(ofRun.slice(first), notes);
  const header = files[0]?.file.header;
  if (header === undefined) throw CaptureErrors.NoRecording(path);
  if (earlier > 0 && Date.parse(header.begun) > since && since > 0)
    notes.push(
      `the program started at ${header.started}; what was before is in ${earlier} older files, which belong to another start`,
    );
  return { header, files, notes };
}

/** After a damaged file there is a gap: the next one begins with a snapshot of its own. */
function contiguous(files: Gathered['files'], notes: string[]): Gathered['files'] {
  const broken = files.findLastIndex(({ file }, at) => file.lost > 0 && at < files.length - 1);
  if (broken < 0) return files;
  notes.push(
    `what was before ${files[broken + 1]?.file.header.begun} is left out, because the recording has a gap there`,
  );
  return files.slice(broken + 1);
}

async function namesOf(path: string): Promise<readonly string[]> {
  try {
    const names = await readdir(path);
    const files = names.filter((name) => name.endsWith(FILE_SUFFIX)).toSorted();
    if (files.length === 0) throw CaptureErrors.NoRecording(path);
    return files.map((name) => join(path, name));
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOTDIR') return [path];
    if (code === 'ENOENT') throw CaptureErrors.Unreadable(path, 'there is no such file or folder');
    throw error;
  }
}

async function bytesOf(path: string): Promise<Buffer> {
  try {
    return await readBytes(path);
  } catch (error) {
    throw CaptureErrors.Unreadable(path, reasonOf(error));
  }
}

/** One file of a history in memory, for `openRecording`: captures that tests keep. */
export async function bytesOfHistory({ header, lines }: Pick<OpenedRecording, 'header' | 'lines'>): Promise<Buffer> {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const head = headBytes({ ...header, run: 'kept', segment: 0, begun: header.started });
  return Buffer.concat([head, await frameOf(text)]);
}
