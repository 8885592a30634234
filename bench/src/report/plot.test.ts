import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { drawPlot, type Plot } from './plot.ts';

const plot = (over: Partial<Plot>): Plot => ({
  title: 'a < b',
  xLabel: 'objects',
  yLabel: 'ms',
  scale: 'log',
  lines: [
    {
      label: 'edit',
      points: [
        { x: 100, y: 2 },
        { x: 10_000, y: 3 },
      ],
    },
    { label: 'peer', points: [{ x: 100, y: 50 }], isPeer: true },
  ],
  ...over,
});

/** Returns the y coordinates of the circles of a plot, top of the page first. */
const heights = (svg: string) => [...svg.matchAll(/<circle cx="[\d.]+" cy="([\d.]+)"/g)].map(([, y]) => Number(y));

describe('a plot', () => {
  test('a larger value is nearer to the top', () => {
    const [small = 0, larger = 0, peer = 0] = heights(drawPlot(plot({})));
    assert.ok(peer < larger && larger < small);
  });

  test('text from figures is escaped', () => {
    assert.match(drawPlot(plot({})), /a &lt; b/);
  });

  test('a linear axis of values begins at zero', () => {
    const svg = drawPlot(plot({ scale: 'linear' }));
    assert.match(svg, />0</);
    assert.ok(heights(svg).every((y) => y >= 34 && y <= 314));
  });

  test('a plot without values, or with values that a logarithm does not have, is drawn', () => {
    assert.doesNotMatch(drawPlot(plot({ lines: [] })), /NaN|Infinity/);
    const zero = [{ label: 'zero', points: [{ x: 100, y: 0 }] }];
    assert.doesNotMatch(drawPlot(plot({ lines: zero })), /NaN|Infinity/);
  });
});
