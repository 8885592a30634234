import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dueOf, parseWindow } from './window.ts';

const BEGINNING = Date.parse('2025-01-01T00:00Z');

function at(now: string, rotation: Parameters<typeof dueOf>[1]) {
  const asked: number[] = [];
  const read = {
    reached(instant: number | string) {
      const when = typeof instant === 'number' ? instant : Date.parse(instant);
      if (when > Date.parse(now)) asked.push(when);
      return when <= Date.parse(now);
    },
  };
  const due = dueOf(read, rotation, BEGINNING);
  const shown = due.isDue ? 'now' : due.at === undefined ? 'never' : new Date(due.at).toISOString().slice(0, 16);
  return { shown, wakesAt: asked };
}

describe('a window', () => {
  for (const text of ['0 2 * * 6', '0 2 * * 6/3', '0 2 * * 6/10s', 'x/3h', '0 0 31 2 */1h', '/3h'])
    test(`"${text}" is refused`, () => assert.ok('fault' in parseWindow(text)));
  test('steps are no durations', () => assert.ok('value' in parseWindow('*/15 2 * * 6/3h30m')));
});

describe('changed credentials are due', () => {
  const window = '0 2 * * 6/3h';
  test('changed credentials are due at once without a schedule', () => {
    assert.equal(at('2026-11-16T00:00Z', undefined).shown, 'now');
    assert.equal(at('2026-11-16T00:00Z', { secret: 'next' }).shown, 'now');
  });
  test('not before their time', () => {
    const notBefore = '2026-11-20T00:00:00Z';
    const early = at('2026-11-16T00:00Z', { notBefore });
    assert.equal(early.shown, '2026-11-20T00:00');
    assert.ok(early.wakesAt.includes(Date.parse(notBefore)));
    assert.equal(at('2026-11-20T00:00Z', { notBefore }).shown, 'now');
  });
  test('within the window, and not outside', () => {
    assert.equal(at('2026-11-21T01:59Z', { window }).shown, '2026-11-21T02:00');
    assert.equal(at('2026-11-21T02:00Z', { window }).shown, 'now');
    assert.equal(at('2026-11-21T04:59Z', { window }).shown, 'now');
    assert.equal(at('2026-11-21T05:00Z', { window }).shown, '2026-11-28T02:00');
    assert.ok(at('2026-11-21T01:59Z', { window }).wakesAt.includes(Date.parse('2026-11-21T02:00Z')));
  });
  test('changed credentials are due in the window of the time zone', () => {
    assert.equal(at('2026-11-21T00:30Z', { window, timeZone: 'Europe/Berlin' }).shown, '2026-11-21T01:00');
    assert.equal(at('2026-11-21T01:00Z', { window, timeZone: 'Europe/Berlin' }).shown, 'now');
  });
  test('changed credentials are due in the first window that is open after their time', () => {
    const inside = { window, notBefore: '2026-11-21T04:00:00Z' };
    assert.equal(at('2026-11-16T00:00Z', inside).shown, '2026-11-21T04:00');
    assert.equal(at('2026-11-21T03:00Z', inside).shown, '2026-11-21T04:00');
    assert.equal(at('2026-11-21T04:00Z', inside).shown, 'now');
    assert.equal(at('2026-11-16T00:00Z', { window, notBefore: '2026-11-21T05:00:00Z' }).shown, '2026-11-28T02:00');
  });
});
