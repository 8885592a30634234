import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const page = read('../contracts.md');
const examples = readdirSync(new URL('.', import.meta.url)).filter((name) => /^[a-z-]+\.ts$/.test(name));

test('all code on the page about contracts is code of the examples', () => {
  const texts = examples.map((name) => read(name));
  const blocks = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
  assert.ok(blocks.length > 10);
  for (const block of blocks)
    assert.ok(
      texts.some((text) => text.includes(block)),
      `in no example:\n${block}`,
    );
});

test('the page names every example of a contract, and each has a test', () => {
  const elsewhere = new Set(['website-operator.ts', 'manager.ts', 'mistakes.ts', 'daemon-set-runtime.ts']);
  for (const name of examples.filter((each) => !elsewhere.has(each))) {
    assert.ok(page.includes(`(examples/${name})`), `${name} is not on the page`);
    assert.ok(read(name.replace(/\.ts$/, '.test.ts')).length > 0);
  }
});
