import assert from 'node:assert/strict';
import { it } from 'node:test';
import { humanDuration, since } from './text.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

const lengths: [seconds: number, text: string][] = [
  [-5, '<invalid>'],
  [-1, '0s'],
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [599, '9m59s'],
  [600, '10m'],
  [3 * HOUR - 1, '179m'],
  [3 * HOUR, '3h'],
  [3 * HOUR + 60, '3h1m'],
  [8 * HOUR, '8h'],
  [2 * DAY - 1, '47h'],
  [2 * DAY + 3 * HOUR, '2d3h'],
  [8 * DAY, '8d'],
  [2 * YEAR - 1, '729d'],
  [2 * YEAR + DAY, '2y1d'],
  [8 * YEAR, '8y'],
];

for (const [seconds, text] of lengths) {
  it(`writes ${seconds} seconds as ${text}`, () => assert.equal(humanDuration(seconds * 1000), text));
}

it('knows nothing of a time that is not there or not one', () => {
  assert.equal(since(undefined, 0), '<unknown>');
  assert.equal(since('yesterday', 0), '<unknown>');
});
