import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { PackageError } from '../errors.ts';
import { createSharedParser } from './document-parser.ts';

const large = (value: string) => `a: ${value}\nb:\n${'  - some text that repeats\n'.repeat(3000)}`;

describe('documents', () => {
  test('large and small are parsed alike', async () => {
    await createSharedParser().use(async (parse) => {
      assert.deepEqual(await parse('a: yes', 'x'), { a: true });
      const found = (await parse(large('yes'), 'x')) as { a: boolean; b: string[] };
      assert.deepEqual([found.a, found.b.length], [true, 3000]);
      for (const text of ['a: [', large('[')])
        await assert.rejects(parse(text, 'file, line 7'), (error: unknown) => {
          assert.ok(error instanceof PackageError, String(error));
          assert.match(error.message, /^file, line 7 is not YAML: .+; correct the file/);
          return true;
        });
    });
  });

  test('documents that are large do not stop other work', async () => {
    let turns = 0;
    await createSharedParser().use(async (parse) => {
      // The thread is there before it counts.
      await parse(large('1'), 'x');
      const parsing = parse(large('2'), 'x').finally(() => {
        turns = -turns;
      });
      while (turns >= 0) {
        turns++;
        await systemClock.yield();
      }
      await parsing;
    });
    assert.ok(turns < -5, `${-turns} turns of the event loop`);
  });

  test('may be asked for by several at once, and again after the last has gone', async () => {
    const parser = createSharedParser();
    const names = await Promise.all(
      ['a', 'b', 'c'].map((name) => parser.use(async (parse) => ((await parse(large(name), name)) as { a: string }).a)),
    );
    assert.deepEqual(names, ['a', 'b', 'c']);
    assert.equal(await parser.use(async (parse) => ((await parse(large('z'), 'z')) as { a: string }).a), 'z');
  });

  test('documents that take memory without end end the thread, and no other document with it', {
    timeout: 60_000,
  }, async () => {
    const parser = createSharedParser(16);
    await parser.use(async (parse) => {
      const greedy = `a:\n${'- [[[[[[[[[[1,2,3,4,5,6,7,8,9]]]]]]]]]]\n'.repeat(40_000)}`;
      const refused = assert.rejects(parse(greedy, 'x'), /x is not YAML: it takes too much memory/);
      const other = (await parse(large('other'), 'y')) as { a: string };
      await refused;
      assert.equal(other.a, 'other');
    });
  });
});
