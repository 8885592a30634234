import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { machine } from '../measure/machine.ts';
import { type Figure, result } from '../measure/result.ts';
import { benchmarkPage } from './page.ts';

const HERE = machine(new Date('2026-01-01T00:00:00Z'));
const saved = (figures: readonly Figure[], isBusy = false) => [
  { bench: 'x', results: figures.map((figure) => ({ ...result(figure), machine: { ...HERE, isBusy } })) },
];

describe('the page of benchmarks', () => {
  test('a missed target and a better peer are listed before everything else, in bold', () => {
    const { markdown } = benchmarkPage(
      saved([
        { name: 'good', unit: 'ms', rounds: [1], below: 2, peer: { name: 'Other', rounds: [4] } },
        { name: 'missed', unit: 'ms', rounds: [3], below: 2 },
        { name: 'slower', unit: 'ms', rounds: [3], peer: { name: 'Other', rounds: [1] } },
        { name: 'fewer', unit: 'creates/s', rounds: [3], peer: { name: 'Other', rounds: [9] } },
      ]),
    );
    const [first = '', ...sections] = markdown.split('\n## ').slice(1);
    assert.match(first, /^Missed targets/);
    for (const name of ['missed', 'slower', 'fewer']) assert.match(first, new RegExp(`\\| ${name} \\| \\*\\*3`));
    assert.doesNotMatch(first, /good/);
    assert.match(sections.join(''), /good/);
  });

  test('figures from a busy machine are counted and not shown', () => {
    const { markdown } = benchmarkPage(saved([{ name: 'noise', unit: 'ms', rounds: [1], below: 2 }], true));
    assert.match(markdown, /1 figures were measured on a busy machine/);
    assert.doesNotMatch(markdown, /noise/);
  });

  test('a cost at several sizes is drawn with its exponent, and an edit that grows is named', () => {
    const edit = (of: string, costs: Record<number, number>): Figure[] =>
      Object.entries(costs).map(([size, cost]) => ({
        name: `${of} at ${size}`,
        unit: 'ms',
        rounds: [cost],
        growth: { of, size: Number(size) },
      }));
    const flat = benchmarkPage(saved(edit('route edit', { 100: 1, 1000: 1.1 })));
    assert.match(flat.markdown, /All 1 costs of edits grow with an exponent below 0\.15/);
    assert.match(flat.plots.get('x-growth-ms.svg') ?? '', /route edit \(exponent 0\.04\)/);
    const steep = benchmarkPage(saved(edit('route edit', { 100: 1, 1000: 10 })));
    assert.match(steep.markdown, /\*\*Costs of edits that grow .*route edit \(1\.00\)/);
  });

  test('values over time are drawn', () => {
    const curve = [0, 1, 2].map((minute) => ({ minute, value: 100 + minute }));
    const { markdown, plots } = benchmarkPage(saved([{ name: 'memory', unit: 'MB', rounds: [102], curve }]));
    assert.match(markdown, /\(benchmarks\/x-memory\.svg\)/);
    assert.ok(plots.has('x-memory.svg'));
  });

  test('a page that is longer than 200 lines is refused', () => {
    const many = Array.from({ length: 250 }, (_, index) => ({ name: `f${index}`, unit: 'ms', rounds: [1], below: 2 }));
    assert.throws(() => benchmarkPage(saved(many)), /at most 200 lines/);
  });
});
