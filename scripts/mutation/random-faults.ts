import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PlantedFault } from './plant.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

/** Typical slips of programmers. Each is tried at every place where it applies. */
const OPERATORS: readonly (readonly [name: string, from: RegExp, to: string])[] = [
  ['an equality is turned around', / === /, ' !== '],
  ['an inequality is turned around', / !== /, ' === '],
  ['a limit is one further', / <= /, ' < '],
  ['a limit is one nearer', / < /, ' <= '],
  ['both conditions become one of both', / && /, ' || '],
  ['one of both conditions becomes both', / \|\| /, ' && '],
  ['a condition is turned around', /if \(!(?=\w)/, 'if ('],
  ['a sum becomes a difference', / \+ 1\b/, ' - 1'],
  ['true becomes false', /\btrue\b/, 'false'],
  ['a time is ten times as long', /(\d)_000\b/, '$10_000'],
];

/** Faults in these files, the same for the same seed. Their tests are those beside them. */
export function randomFaults(files: readonly string[], count: number, seed: number): readonly PlantedFault[] {
  const all = files.flatMap((file) => {
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n');
    const tests = testsOf(file);
    return lines.flatMap((line, at) => {
      if (/^\s*(\/\/|\*|\/\*|import|export (type|interface))/.test(line)) return [];
      return OPERATORS.flatMap(([name, from, to]) => {
        if (!from.test(line)) return [];
        // The lines around it make the place unique.
        const around = (text: string) => [lines[at - 1] ?? '', text, lines[at + 1] ?? ''].join('\n');
        return [
          { name: `${name}, line ${at + 1}`, file, from: around(line), to: around(line.replace(from, to)), tests },
        ];
      });
    });
  });
  return sampleOf(all, count, seed);
}

function testsOf(file: string): readonly string[] {
  const own = file.replace(/\.ts$/, '.test.ts');
  if (existsSync(join(ROOT, own))) return [own];
  const folder = dirname(file);
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name));
}

/** Some of them, the same for the same seed, in their order. */
export function sampleOf<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  const chosen = new Set(shuffled(all.keys().toArray(), seed).slice(0, count));
  return all.filter((_, at) => chosen.has(at));
}

/** All of them in an order that is the same for the same seed. */
export function shuffled<T>(all: readonly T[], seed: number): readonly T[] {
  let state = seed >>> 0;
  const next = () => {
    // A linear congruential generator: a sample needs no better one.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return all
    .map((item) => ({ item, rank: next() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
