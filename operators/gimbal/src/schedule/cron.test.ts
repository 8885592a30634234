import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Cron, parseCron } from './cron.ts';

function cronOf(text: string, zone = 'UTC'): Cron {
  const parsed = parseCron(text, zone);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return parsed.value;
}

function next(text: string, from: string, many = 3, zone = 'UTC'): string[] {
  const found: string[] = [];
  for (const start of cronOf(text, zone).startsFrom(Date.parse(from))) {
    if (found.length === many) break;
    found.push(new Date(start).toISOString().slice(0, 16));
  }
  return found;
}

describe('a cron expression', () => {
  const cases: [text: string, from: string, starts: string[]][] = [
    ['0 2 * * 6', '2026-11-16T00:00Z', ['2026-11-21T02:00', '2026-11-28T02:00']],
    ['0 2 * * sat', '2026-11-21T02:00Z', ['2026-11-21T02:00', '2026-11-28T02:00']],
    ['*/20 3 * * *', '2026-11-16T03:21Z', ['2026-11-16T03:40', '2026-11-17T03:00']],
    ['5/25 3 * * *', '2026-11-16T00:00Z', ['2026-11-16T03:05', '2026-11-16T03:30', '2026-11-16T03:55']],
    ['30 1-3 1,15 jan-mar *', '2026-01-14T00:00Z', ['2026-01-15T01:30', '2026-01-15T02:30']],
    ['0 0 29 2 *', '2026-01-01T00:00Z', ['2028-02-29T00:00']],
    ['0 0 13 * fri', '2026-11-01T00:00Z', ['2026-11-06T00:00', '2026-11-13T00:00', '2026-11-20T00:00']],
    ['0 0 * * 7', '2026-11-16T00:00Z', ['2026-11-22T00:00']],
    ['@weekly', '2026-11-16T00:00Z', ['2026-11-22T00:00']],
    ['0 12 ? * MON-FRI', '2026-11-20T13:00Z', ['2026-11-23T12:00']],
  ];
  for (const [text, from, starts] of cases)
    test(`${text} from ${from}`, () => assert.deepEqual(next(text, from, starts.length), starts));

  for (const text of [
    '',
    '* * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 8',
    '5-1 * * * *',
    'a * * * *',
    '*/0 * * * *',
    '1-2-3 * * * *',
    '* * * * * *',
  ])
    test(`"${text}" is refused`, () => assert.ok('fault' in parseCron(text, 'UTC')));

  test('a time zone that does not exist is refused', () => {
    const parsed = parseCron('0 2 * * *', 'Europe/Atlantis');
    assert.ok('fault' in parsed && parsed.fault.includes('Europe/Atlantis'));
  });

  test('a cron expression that never comes has no starts', () =>
    assert.deepEqual(next('0 0 31 2 *', '2026-01-01T00:00Z'), []));
});

describe('in a zone that moves its clocks', () => {
  test('local time counts, in summer and in winter', () => {
    assert.deepEqual(next('0 2 * * *', '2026-07-01T12:00Z', 1, 'Europe/Berlin'), ['2026-07-02T00:00']);
    assert.deepEqual(next('0 2 * * *', '2026-12-01T12:00Z', 1, 'Europe/Berlin'), ['2026-12-02T01:00']);
    assert.deepEqual(next('0 2 * * *', '2026-12-01T12:00Z', 1, 'Asia/Kathmandu'), ['2026-12-01T20:15']);
  });
  test('a time that is skipped comes as much later, once', () => {
    // 29 March 2026: 02:00 becomes 03:00.
    assert.deepEqual(next('30 2 * * *', '2026-03-28T12:00Z', 2, 'Europe/Berlin'), [
      '2026-03-29T01:30',
      '2026-03-30T00:30',
    ]);
  });
  test('a time that comes twice counts the first time', () => {
    // 25 October 2026: 03:00 becomes 02:00.
    assert.deepEqual(next('30 2 * * *', '2026-10-24T12:00Z', 2, 'Europe/Berlin'), [
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
  });
  test('a skipped time that meets another start is one start', () => {
    assert.deepEqual(next('30 2,3 * * *', '2026-03-29T00:00Z', 2, 'Europe/Berlin'), [
      '2026-03-29T01:30',
      '2026-03-30T00:30',
    ]);
  });
  test('every day has its start, whatever the day and the zone', () => {
    const zones = [
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'America/Sao_Paulo',
      'Asia/Kolkata',
      'UTC',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2030, 0, 1) }),
        (zone, hour, minute, from) => {
          const starts: number[] = [];
          for (const start of cronOf(`${minute} ${hour} * * *`, zone).startsFrom(from)) {
            if (starts.length === 5) break;
            starts.push(start);
          }
          assert.ok((starts[0] ?? 0) >= from && (starts[0] ?? 0) - from <= 26 * 3_600_000);
          for (const [at, start] of starts.entries()) {
            const gap = start - (starts[at - 1] ?? start - 86_400_000);
            assert.ok(gap >= 22 * 3_600_000 && gap <= 26 * 3_600_000, `${gap / 3_600_000} h`);
          }
        },
      ),
      { numRuns: 200 },
    );
  });
});
