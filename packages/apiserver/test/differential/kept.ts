// Sequences that found a difference, or that random ones cannot contain because controllers take their time: each is a file with the
// answers of the real server, so that a machine without one still compares.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Answer, DiffRequest } from './sequence.ts';

export interface KeptSequence {
  /** The difference that it showed, as a sentence. */
  title: string;
  requests: DiffRequest[];
  /** The answers of the real server, normalised. */
  answers: Answer[];
}

const folder = join(import.meta.dirname, 'kept');

/** By the name of the file, which is the sequence's own as well. */
export function keptSequences(): [name: string, kept: KeptSequence][] {
  return files().map((file) => [
    basename(file, '.json'),
    JSON.parse(readFileSync(join(folder, file), 'utf8')) as KeptSequence,
  ]);
}

function files(): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .toSorted();
}

/** One line a request and one an answer, so that a change of either can be read. */
export function keep(name: string, { title, requests, answers }: KeptSequence): void {
  const lines = (list: readonly unknown[]) => list.map((one) => `  ${JSON.stringify(one)}`).join(',\n');
  const text = `{\n "title": ${JSON.stringify(title)},\n "requests": [\n${lines(requests)}\n ],\n "answers": [\n${lines(answers)}\n ]\n}\n`;
  const known = files().find((file) => basename(file) === `${name}.json`);
  writeFileSync(join(folder, known ?? `${name}.json`), text);
}
