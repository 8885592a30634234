// Each fuzz target reads its seeds, its corpus and some changed inputs here; `npm run fuzz` goes on from there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FuzzTarget, runs, runTarget } from '@capstan/testing';
import { findTargets, readCorpus } from './fuzz/targets.ts';

const found = await findTargets();

test('each target has a name of its own', () => {
  const names = found.map(({ target }) => target.name);
  assert.equal(new Set(names).size, names.length, names.join(', '));
  assert.ok(names.length >= 25, `${names.length} targets`);
});

for (const { target } of found) {
  test(`${target.name}: no input harms its parser`, async (t) => {
    t.after(async () => target.close?.());
    const corpus = readCorpus(target.name);
    const inputs = target.seeds.length + corpus.length + runs(40, 2_000, 'FUZZ_INPUTS');
    const { finding } = await runTarget(target, { seed: 1, inputs, corpus });
    const shown = finding && `${finding.problem}: ${JSON.stringify(finding.input.toString('latin1').slice(0, 2_000))}`;
    assert.equal(shown, undefined);
  });
}

const parser = (read: (input: Buffer) => unknown): FuzzTarget => ({
  name: 'test',
  seeds: ['abc', '(x)'],
  tokens: ['(', ')'],
  maxBytes: 16 * 1024,
  isRefusal: (error) => error instanceof SyntaxError,
  read,
});
const problemOf = async (read: (input: Buffer) => unknown) => {
  const { finding } = await runTarget(parser(read), { seed: 1, inputs: 2_000 });
  return finding?.problem ?? 'none';
};

test('a parser that throws another error, overflows the stack or pollutes a prototype is reported with its input', async () => {
  const nested = (text: string): number => (text.startsWith('(') ? 1 + nested(text.slice(1)) : 0);
  assert.equal(
    await problemOf(() => {
      throw new SyntaxError('refused');
    }),
    'none',
  );
  assert.match(
    await problemOf((input) => (input.includes('((') ? (undefined as unknown as string).length : 0)),
    /TypeError/,
  );
  assert.match(
    await problemOf((input) =>
      nested(
        input
          .toString()
          .repeat(input.includes('(') ? 20_000 : 1)
          .replaceAll(/[^(]/g, ''),
      ),
    ),
    /Maximum call stack/,
  );
  assert.match(
    await problemOf((input) => {
      if (input.includes('x')) Object.assign(Object.prototype, { polluted: true });
    }),
    /Object\.prototype was changed: polluted/,
  );
});

test('a parser whose time grows with the square of the length is reported', async () => {
  const problem = await problemOf((input) => {
    let sum = 0;
    // The sum keeps the loops from being left out.
    for (let i = 0; i < input.length; i += 1) for (let j = 0; j < input.length; j += 3) sum += (input[i] ?? 0) ^ j;
    if (sum === -1) throw new SyntaxError();
  });
  assert.match(problem, /times the length takes|bytes take/);
});
