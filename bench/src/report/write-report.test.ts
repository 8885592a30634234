import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { machine } from '../measure/machine.ts';
import { result } from '../measure/result.ts';
import { writeReport } from './write-report.ts';

test('the page and its plots are written from saved results, and plots of earlier ones are removed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-report-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [docs, results] = [join(folder, 'docs'), join(folder, 'results')];
  assert.throws(() => writeReport(docs, results), /there are no results .*run npm run bench -- NAME first/);
  mkdirSync(join(docs, 'benchmarks'), { recursive: true });
  mkdirSync(results);
  writeFileSync(join(docs, 'benchmarks', 'old.svg'), '');
  const here = { ...machine(new Date('2026-01-01T00:00:00Z')), isBusy: false };
  const figures = [100, 1000].map((size) => ({
    ...result({ name: `edit at ${size}`, unit: 'ms', rounds: [1], below: 2, growth: { of: 'edit', size } }),
    machine: here,
  }));
  writeFileSync(join(results, 'x.json'), JSON.stringify({ bench: 'x', results: figures }));
  assert.match(writeReport(docs, results), /1 benches, 1 plots/);
  const page = readFileSync(join(docs, 'benchmarks.md'), 'utf8');
  for (const [, file = ''] of page.matchAll(/\]\((benchmarks\/[^)]+)\)/g))
    assert.ok(existsSync(join(docs, file)), file);
  assert.ok(!existsSync(join(docs, 'benchmarks', 'old.svg')));
});
