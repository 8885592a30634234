import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isFullRun } from '@capstan/testing';
import { benches } from './benches.ts';
import { runCommand } from './command.ts';
import { median, percentile } from './measure/percentiles.ts';
import { type Result, result } from './measure/result.ts';
import type { Report } from './table.ts';

const command = (...args: string[]) => commandWith(() => 'written', ...args);

async function commandWith(report: () => string, ...args: string[]) {
  let out = '';
  let err = '';
  const code = await runCommand(args, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    now: () => new Date('2026-01-01T00:00:00Z'),
    save: () => assert.fail('a run in tiny size is saved'),
    report,
  });
  return { code, out, err };
}

/** Those of operators, whose figures must be exact; the others take a minute together. */
const QUICK: ReadonlySet<string> = new Set(['kroxylicious', 'crossplane', 'gimbal', 'sesame-config']);

for (const bench of benches) {
  const parts = [
    ...bench.parts.map((part) => ({ part, flags: [] })),
    ...(bench.peerParts ?? []).map((part) => ({ part, flags: ['--peer'] })),
  ];
  describe(`the bench ${bench.name}, in its tiny size`, () => {
    for (const { part, flags } of parts) {
      const skip = isFullRun || QUICK.has(bench.name) ? (part.lacks?.() ?? false) : 'npm test -- --full runs it';
      test(`${part.name} prints one JSON object, and what must be exact is exact`, { skip }, async () => {
        const { code, out } = await command(bench.name, ...flags, '--only', part.name, '--tiny', '--json', '--here');
        assert.equal(code, 0);
        const report = JSON.parse(out) as Report;
        assert.equal(report.bench, bench.name);
        assert.equal(report.machine.date, '2026-01-01T00:00:00.000Z');
        assert.equal(report.machine.node, process.versions.node);
        assert.ok(report.results.length > 0);
        assert.equal(new Set(report.results.map(({ name }) => name)).size, report.results.length, 'names are unique');
        for (const each of report.results) checkShape(each);
        const inexact = report.results.filter(({ target, ok }) => target?.startsWith('=') && !ok);
        assert.deepEqual(inexact, []);
      });
    }
  });
}

function checkShape(each: Result): void {
  assert.ok(Number.isFinite(each.value), `${each.name} has a value`);
  assert.equal(typeof each.unit, 'string');
  assert.ok(each.target === null || typeof each.target === 'string');
  assert.equal(typeof each.ok, 'boolean');
  assert.ok(each.spread[0] <= each.spread[1]);
  if (each.peer === undefined) assert.equal(each.ratio, undefined);
  else assert.ok(Number.isFinite(each.peer.value) && Number.isFinite(each.ratio), `${each.name} has a ratio`);
}

describe('npm run bench', () => {
  test('lists the benches when none is named', async () => {
    const { code, out } = await command();
    assert.equal(code, 0);
    for (const { name } of benches) assert.match(out, new RegExp(`^ {2}${name} `, 'm'));
  });

  test('writes the page of results, or prints why it could not', async () => {
    assert.deepEqual(await command('report'), { code: 0, out: 'written\n', err: '' });
    const failing = () => {
      throw new Error('there are no results');
    };
    assert.deepEqual(await commandWith(failing, 'report'), { code: 1, out: '', err: 'there are no results\n' });
    assert.equal((await command('report', 'extra')).code, 2);
  });

  test('says what there is when a bench or a part is not known', async () => {
    const bench = await command('nosuch');
    assert.equal(bench.code, 2);
    assert.match(bench.err, /there is no bench nosuch; there is: .*runtime/);
    const part = await command('runtime', '--only', 'nosuch');
    assert.equal(part.code, 2);
    assert.match(part.err, /runtime has no part nosuch; it has: .*wake-up/);
  });

  test('says which benches have parts beside a peer, and which parts those are', async () => {
    const none = await command('gimbal', '--peer');
    assert.equal(none.code, 2);
    assert.match(none.err, /gimbal has no parts beside a peer; leave out --peer/);
    const part = await command('runtime', '--peer', '--only', 'pairs');
    assert.equal(part.code, 2);
    assert.match(part.err, /runtime has no part pairs; it has: .*peer-5000/);
  });

  test('measures a part in a process of its own', async () => {
    const { code, out } = await command('runtime', '--only', 'pairs', '--tiny', '--json');
    assert.equal(code, 0);
    assert.ok((JSON.parse(out) as Report).results.length > 0);
  });

  test('prints a table for people, with what was reached', async () => {
    const { code, out } = await command('runtime', '--only', 'pairs', '--tiny', '--here');
    assert.equal(code, 0);
    assert.match(out, /^figure +value +unit/m);
    assert.match(out, /^0 of 0 targets reached\.$/m);
  });
});

describe('a result', () => {
  const figure = { name: 'x', unit: 'ms', rounds: [3, 1, 2] };

  test('is the median round, with the spread of all', () => {
    const { value, spread, target, ok } = result(figure);
    assert.deepEqual({ value, spread, target, ok }, { value: 2, spread: [1, 3], target: null, ok: true });
  });

  test('is judged by its target', () => {
    assert.equal(result({ ...figure, below: 2 }).ok, false);
    assert.equal(result({ ...figure, atMost: 2 }).ok, true);
    assert.equal(result({ ...figure, atLeast: 3 }).ok, false);
    assert.equal(result({ ...figure, atLeast: 3 }).target, '>= 3');
  });

  test('a result that must be exact is judged by every round', () => {
    assert.equal(result({ ...figure, exactly: 2 }).ok, false);
    assert.equal(result({ ...figure, rounds: [2, 2], exactly: 2 }).ok, true);
  });

  test('is judged by its worst round where every round counts', () => {
    assert.equal(result({ ...figure, atMost: 2, everyRound: true }).ok, false);
    assert.equal(result({ ...figure, atMost: 3, everyRound: true }).ok, true);
  });

  test('beside a peer reports the ratio', () => {
    const { peer, ratio } = result({ ...figure, peer: { name: 'other', rounds: [8] } });
    assert.deepEqual({ peer, ratio }, { peer: { name: 'other', value: 8 }, ratio: 0.25 });
  });
});

test('percentiles are of the samples themselves, by nearest rank', () => {
  const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.equal(percentile(samples, 0.99), 99);
  assert.equal(percentile(samples, 1), 100);
  assert.equal(median([4, 1, 3, 2]), 2);
});
