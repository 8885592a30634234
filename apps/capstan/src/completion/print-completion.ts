import type { Commands } from '@capstan/reconcile/command-line';
import type { Io } from '../cli/io.ts';
import { complete } from './complete.ts';

/** Prints the output of `PROGRAM __complete WORDS…` for the scripts of shells. */
export async function printCompletion(words: readonly string[], commands: Commands, io: Io): Promise<number> {
  const { candidates, files } = await complete(words, commands, io);
  const lines = candidates.map(({ value, help }) => (help === undefined ? value : `${value}\t${help}`));
  if (candidates.length > 0 && candidates.every(({ isOpen }) => isOpen)) lines.push(':nospace');
  if (files) lines.push(':files');
  io.stdout(lines.map((line) => `${line}\n`).join(''));
  return 0;
}
