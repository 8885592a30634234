import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { silentLogger, systemClock } from '@capstan/kube';
import { HISTORY_FORMAT, type HistoryHeader, type HistoryLine } from '../history.ts';
import { parseKey } from './frames.ts';
import { cutRecording, openRecording } from './open-recording.ts';
import { createRing, FILE_SUFFIX, type RingOptions } from './ring.ts';

const root = await mkdtemp(join(tmpdir(), 'capstan-ring-'));
after(() => rm(root, { recursive: true, force: true }));

const header: HistoryHeader = {
  format: HISTORY_FORMAT,
  version: '1.2.3',
  operators: ['web'],
  flags: [],
  started: '2026-01-01T00:00:00Z',
  secrets: 'replaced',
  serveFirst: false,
  whole: false,
  unseen: [],
};
const waveOf = (wave: number, text = ''): HistoryLine => ({ wave, at: wave, inputs: [[0, 'key', 1, text]] });

let folders = 0;
async function recorded(lines: readonly HistoryLine[], options: Partial<RingOptions> = {}): Promise<string> {
  const folder = join(root, String(folders++));
  const snapshot = () => [{ snapshot: 'begin', wave: 0, at: 0, synced: [] } as const][Symbol.iterator]();
  const ring = createRing({
    folder,
    header,
    run: 'run1',
    clock: systemClock,
    logger: silentLogger,
    snapshot,
    ...options,
  });
  for (const line of lines) ring.line(line);
  await ring.close();
  return folder;
}
const filesIn = async (folder: string) =>
  (await readdir(folder)).filter((name) => name.endsWith(FILE_SUFFIX)).toSorted();
const wavesOf = (lines: readonly HistoryLine[]) => lines.flatMap((line) => ('inputs' in line ? line.wave : []));

test('what was recorded is read back, and a file that was cut off ends with its last whole part', async () => {
  const folder = await recorded([waveOf(1, 'first'), waveOf(2)]);
  const { lines, notes } = await openRecording(folder);
  assert.deepEqual(lines, [waveOf(1, 'first'), waveOf(2)]);
  assert.deepEqual(notes, []);
  const [name = ''] = await filesIn(folder);
  const whole = await readFile(join(folder, name));
  // A second part, of which the end is missing.
  await writeFile(join(folder, name), Buffer.concat([whole, whole.subarray(whole.indexOf(10) + 1, whole.length - 3)]));
  const cut = await openRecording(folder);
  assert.deepEqual(wavesOf(cut.lines), [1, 2]);
  assert.match(cut.notes.join(), /is cut off or damaged: its last \d+ bytes are left out/);
  await truncate(join(folder, name), whole.indexOf(10) + 5);
  await assert.rejects(openRecording(folder), /holds no wave.*record for longer/s);
});

test('a file that follows begins with a snapshot, and the oldest files are removed', async () => {
  const text = 'x'.repeat(1000);
  const folder = await recorded(
    Array.from({ length: 6 }, (_, at) => waveOf(at + 1, text + String(at))),
    { fileMs: 0, maxBytes: 0, fileBytes: 0 },
  );
  const names = await filesIn(folder);
  // Every wave began a new file, and each removed those before it.
  assert.equal(names.length, 1);
  const { lines } = await openRecording(folder);
  assert.deepEqual(lines[0] && 'snapshot' in lines[0] && lines[0].snapshot, 'begin');
});

test('a part of a recording is cut without its key, and read with it alone', async () => {
  const key = parseKey(Buffer.from('ab'.repeat(32)), 'key');
  const folder = await recorded([waveOf(1, 'a secret text')], { key });
  const [name = ''] = await filesIn(folder);
  assert.ok(!(await readFile(join(folder, name))).includes('a secret text'));
  const { bytes } = await cutRecording(folder, 0);
  const file = join(root, 'one.capture');
  await writeFile(file, bytes);
  await assert.rejects(openRecording(file), /is encrypted.*give the key file with --key/s);
  await assert.rejects(
    openRecording(file, new Uint8Array(32)),
    /was encrypted with the key [0-9a-f]{8}, and --key has/,
  );
  assert.deepEqual((await openRecording(file, key)).lines, [waveOf(1, 'a secret text')]);
});

test('files of others, of newer versions and keys that are none are refused with what to do', async () => {
  const file = join(root, 'other');
  await writeFile(file, 'something else\n');
  await assert.rejects(openRecording(file), /is not a recording of Capstan.*capstan capture wrote/s);
  await writeFile(file, `CAPSTAN-RECORDING ${JSON.stringify({ ...header, format: 99 })}\n`);
  await assert.rejects(openRecording(file), /has the format 99.*version that wrote it, or a newer one/s);
  await assert.rejects(openRecording(join(root, 'none')), /there is no such file or folder/);
  assert.throws(() => parseKey(Buffer.from('short'), 'key'), /needs 32 bytes.*openssl rand/s);
});
