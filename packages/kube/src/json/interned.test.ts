import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { interned } from './interned.ts';

test('an interned text is the same text', () => {
  for (const text of ['', 'a', '__proto__', 'constructor', '7', 'default/shop', 'é/ü', 'x'.repeat(10_000)])
    assert.equal(interned(text), text);
});

test('equal texts that are put together again and again are kept once', () => {
  const bytesOf = (keep: string) => {
    const program = `
      import { interned } from ${JSON.stringify(new URL('./interned.ts', import.meta.url).href)};
      const kept = [];
      gc();
      const before = process.memoryUsage().heapUsed;
      for (let copy = 0; copy < 5; copy++) for (let at = 0; at < 20_000; at++) kept.push(${keep});
      gc(); gc();
      console.log(Math.round((process.memoryUsage().heapUsed - before) / 20_000), kept.length);
    `;
    const { stdout } = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', program]);
    return Number.parseInt(stdout.toString(), 10);
  };
  const text = '`default/service-of-a-shop-${at}`';
  const [apart, once] = [bytesOf(text), bytesOf(`interned(${text})`)];
  assert.ok(once * 2 < apart, `${once} bytes for five copies of a text, ${apart} without interning`);
});
