import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeAtomically } from './atomic-folder.ts';

const files = (contents: Record<string, string>) =>
  new Map(Object.entries(contents).map(([path, text]) => [path, { content: Buffer.from(text) }]));

test('a folder changes all at once, keeps its visible names, and is left alone when nothing changed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-volume-'));
  t.after(() => rm(folder, { recursive: true }));
  const text = (name: string) => readFile(join(folder, name), 'utf8');
  assert.equal(await writeAtomically(folder, files({ a: '1', 'deep/b': '2' }), 'first'), true);
  assert.equal(await text('a'), '1');
  assert.equal(await text('deep/b'), '2');
  assert.equal(await readlink(join(folder, 'a')), '..data/a');
  assert.equal(await writeAtomically(folder, files({ a: '1', 'deep/b': '2' }), 'second'), false);
  assert.equal(await readlink(join(folder, '..data')), '..first');
  assert.equal(await writeAtomically(folder, files({ a: '3', c: '4' }), 'third'), true);
  assert.equal(await text('a'), '3');
  assert.deepEqual((await readdir(folder)).toSorted(), ['..data', '..third', 'a', 'c']);
  assert.equal(await writeAtomically(folder, new Map(), 'fourth'), true);
  assert.deepEqual((await readdir(folder)).toSorted(), ['..data', '..fourth']);
});

test('files have the mode that they are given', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-volume-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeAtomically(folder, new Map([['key', { content: Buffer.from('x'), mode: 0o400 }]]), 'one');
  assert.equal((await stat(join(folder, 'key'))).mode & 0o777, 0o400);
});
