import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { Suspended } from '../engine/index.ts';
import { createPurity } from './purity.ts';

describe('a computation that is run twice', () => {
  const { run, clock } = createPurity(systemClock);

  test('gives its first result when both are equal', () => {
    const results: object[] = [];
    const result = run('sum', () => {
      const created = { sum: 3 };
      results.push(created);
      return created;
    });
    assert.equal(results.length, 2);
    assert.equal(result, results[0]);
  });

  test('is not pure when it shows the time in any way, and has the system clock again afterwards', () => {
    for (const impure of [() => Date.now(), () => new Date().getTime(), () => Date(), () => new Date().toISOString()])
      assert.throws(() => run('clock', () => ({ at: impure() })), /clock is not pure: .*the results differ at at/);
    const { Date: after } = globalThis;
    assert.ok(Math.abs(after.now() - systemClock.now()) < 60_000);
  });

  test('may use dates that it was given', () => {
    const created = run('dates', () => {
      const date = new Date('2026-01-01T00:00:00Z');
      return {
        year: date.getUTCFullYear(),
        isDate: date instanceof Date,
        at: Date.UTC(2026, 0, 1),
        parsed: Date.parse('2026'),
      };
    });
    assert.deepEqual(created, { year: 2026, isDate: true, at: 1_767_225_600_000, parsed: 1_767_225_600_000 });
  });

  test('sees one time on the clock of the runtime', () => {
    const seen: number[] = [];
    run('runtime', () => {
      seen.push(clock.now());
      return 0;
    });
    assert.ok(Math.abs((seen[1] ?? 0) - (seen[0] ?? 0)) < 60_000);
  });

  test('throws what it throws, or that it throws in one run only', () => {
    const bug = new Error('a bug');
    assert.throws(
      () =>
        run('throwing', () => {
          throw bug;
        }),
      (error) => error === bug,
    );
    let runs = 0;
    assert.throws(
      () =>
        run('second', () => {
          if (++runs === 2) throw bug;
          return 0;
        }),
      /second is not pure: .*in one run only, or something else: a bug/,
    );
  });

  test('suspends after one run', () => {
    let runs = 0;
    assert.throws(
      () =>
        run('waiting', () => {
          runs++;
          throw new Suspended(['x']);
        }),
      Suspended,
    );
    assert.equal(runs, 1);
  });

  test('is compared by its own measure where it has one', () => {
    let runs = 0;
    assert.equal(
      run(
        'rounded',
        () => 1 + runs++ / 10,
        (a, b) => Math.floor(a) === Math.floor(b),
      ),
      1,
    );
  });
});
