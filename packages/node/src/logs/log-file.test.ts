import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { type LogFileOptions, openLogFile } from './log-file.ts';
import { type LogOptions, readLog } from './read-log.ts';

async function createScene(t: TestContext, options: Partial<LogFileOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-log-'));
  t.after(() => rm(folder, { recursive: true }));
  const clock = createVirtualClock();
  const path = join(folder, '0.log');
  const file = await openLogFile({ path, clock, ...options });
  const read = async (asked: LogOptions = {}) => {
    let text = '';
    for await (const piece of readLog({ path, clock, isOpen: () => false }, asked)) text += piece;
    return text;
  };
  return { folder, clock, file, read, write: (text: string) => file.write('stdout', Buffer.from(text)) };
}

test('a written log is read, line by line, with or without its time', async (t) => {
  const { clock, file, read, write } = await createScene(t);
  await write('one\ntw');
  await file.write('stderr', Buffer.from('oops\n'));
  await clock.advance(5000);
  await write('o\nrest');
  assert.equal(await read(), 'one\noops\ntwo\n');
  await file.close();
  assert.equal(await read(), 'one\noops\ntwo\nrest\n');
  assert.equal(await read({ tailLines: 2 }), 'two\nrest\n');
  assert.equal(await read({ tailLines: 0 }), '');
  assert.equal(await read({ since: clock.now() - 1000 }), 'two\nrest\n');
  assert.equal(await read({ timestamps: true, tailLines: 1 }), '2026-01-01T00:00:05.000000Z rest\n');
  assert.equal(await read({ limitBytes: 5 }), 'one\no');
});

test('a character that comes in two pieces stays one', async (t) => {
  const { file, read } = await createScene(t);
  const bytes = Buffer.from('grün\n');
  await file.write('stdout', bytes.subarray(0, 3));
  await file.write('stdout', bytes.subarray(3));
  assert.equal(await read(), 'grün\n');
});

test('a log that grows too large is kept in parts, of which the oldest goes', async (t) => {
  const { folder, read, write } = await createScene(t, { maxBytes: 200, keep: 3 });
  for (let line = 1; line <= 20; line++) await write(`line ${line}\n`);
  assert.deepEqual((await readdir(folder)).toSorted(), ['0.log', '0.log.1', '0.log.2']);
  const lines = (await read()).trimEnd().split('\n');
  assert.equal(lines.at(-1), 'line 20');
  assert.ok(lines.length < 20);
  assert.deepEqual(
    lines,
    lines.map((_, index) => `line ${20 - lines.length + 1 + index}`),
  );
});

test('a very long line is not kept in memory until it ends', async (t) => {
  const { read, write } = await createScene(t);
  const long = 'x'.repeat(40_000);
  await write(long);
  assert.ok((await read()).length >= 32_000);
  await write('\n');
  assert.equal(await read(), `${long}\n`);
});
