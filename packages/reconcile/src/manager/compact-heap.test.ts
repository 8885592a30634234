import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

// In a process of its own: the flags of V8 hold for the whole process, and cannot be read back.
for (const options of [{}, { startGrowthPercent: 50 }])
  test(`a program with a compact heap gives back what its start left behind, with ${JSON.stringify(options)}`, {
    timeout: 60_000,
  }, async () => {
    const program = `
    import { compactHeap } from ${JSON.stringify(new URL('compact-heap.ts', import.meta.url).href)};
    let left = Array.from({ length: 400_000 }, (_, at) => ({ at, text: 'x' + at }));
    const before = process.memoryUsage().heapUsed;
    left = undefined;
    const stopping = new AbortController();
    let checks = 0;
    const clock = { now: () => 0, after: (_ms, call) => ({ cancel: clearImmediate.bind(undefined, setImmediate(call)) }) };
    const ended = compactHeap({ ...${JSON.stringify(options)}, clock, isAtRest: () => ++checks === 3, signal: stopping.signal });
    while (checks < 3) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    const after = process.memoryUsage().heapUsed;
    stopping.abort();
    await ended;
    console.log(JSON.stringify({ before, after, checks }));
  `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
    const { before, after, checks } = JSON.parse(stdout) as { before: number; after: number; checks: number };
    assert.equal(checks, 3, 'it waited until the program was at rest');
    assert.ok(after < before / 2, `${after} bytes are left of ${before}`);
  });
