// The fuzz targets of the tree, in files *.fuzz.test-support.ts beside the parsers, and the inputs that earlier runs kept.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FuzzTarget } from '@capstan/testing';

const root = dirname(dirname(import.meta.dirname));

/** A target, and the file that exports it. */
export interface FoundTarget {
  readonly target: FuzzTarget;
  readonly file: string;
}

export async function findTargets(): Promise<FoundTarget[]> {
  const files = globSync('{packages,operators}/**/*.fuzz.test-support.ts', {
    cwd: root,
    exclude: (name) => name.includes('node_modules'),
  });
  const found = await Promise.all(files.map((file) => targetsIn(join(root, file))));
  return found.flat().toSorted((left, right) => (left.target.name < right.target.name ? -1 : 1));
}

export async function targetsIn(file: string): Promise<FoundTarget[]> {
  const { targets } = (await import(pathToFileURL(file).href)) as { readonly targets: readonly FuzzTarget[] };
  return targets.map((target) => ({ target, file }));
}

/** A line for each input: a JSON text with one character for each byte. */
const corpusFile = (name: string) => join(import.meta.dirname, 'corpus', `${name}.txt`);

export function readCorpus(name: string): Buffer[] {
  const file = corpusFile(name);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => Buffer.from(JSON.parse(line) as string, 'latin1'));
}

/** Adds inputs to the corpus of a target; returns how many were not in it before. */
export function addToCorpus(name: string, inputs: readonly Buffer[]): number {
  const before = readCorpus(name).map(lineOf);
  const lines = [...new Set([...before, ...inputs.map(lineOf)])].toSorted();
  if (lines.length > 0) writeFileSync(corpusFile(name), `${lines.join('\n')}\n`);
  return lines.length - before.length;
}

/** Printable ASCII only, so that no editor and no diff changes it. */
function lineOf(input: Buffer): string {
  const text = JSON.stringify(input.toString('latin1'));
  return text.replace(/[\u007f-\u00ff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
