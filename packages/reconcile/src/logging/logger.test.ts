import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import * as fc from 'fast-check';
import { createLogger, type LoggerOptions } from './logger.ts';
import { createRedactor, isSensitiveName } from './redaction.ts';

function setUp(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const redactor = createRedactor();
  const logger = createLogger({
    clock: createVirtualClock(),
    write: (line) => lines.push(line),
    redactor,
    level: 'debug',
    ...options,
  });
  const json = () => JSON.parse(lines.at(-1) ?? 'null') as Record<string, unknown>;
  return { logger, redactor, lines, json, all: () => lines.join('') };
}

describe('a logger', () => {
  it('prints a JSON object a line, with the fields of its context', () => {
    const { logger, lines } = setUp();
    logger.with({ operator: 'sesame' }).with({ reconciler: 'proxy', object: 'shop/web' }).info('rolled', { pods: 3 });
    assert.deepEqual(lines, [
      '{"time":"2026-01-01T00:00:00.000Z","level":"info","message":"rolled","operator":"sesame","reconciler":"proxy","object":"shop/web","pods":3}\n',
    ]);
  });

  it('prints lines for people', () => {
    const { logger, lines } = setUp({ format: 'text' });
    logger.warn('slow answer', { object: 'shop/web', why: 'two words', list: [1, 'a'], empty: '' });
    assert.deepEqual(lines, [
      '2026-01-01T00:00:00.000Z WARN  slow answer object=shop/web why="two words" list=[1,"a"] empty=""\n',
    ]);
  });

  it('prints nothing below its level', () => {
    const { logger, lines } = setUp({ level: 'warn' });
    logger.debug('a');
    logger.info('b');
    logger.warn('c');
    logger.with({ x: 1 }).error('d');
    assert.equal(lines.length, 2);
  });

  it('prints an error with its stack and the chain of its causes', () => {
    const { logger, json } = setUp();
    const root = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    logger.error('failed', { error: new TypeError('cannot list pods', { cause: root }) });
    const { error } = json() as { error: Record<string, Record<string, unknown> & string> };
    assert.equal(error.name, 'TypeError');
    assert.equal(error.message, 'cannot list pods');
    assert.match(error.stack ?? '', /^at .*logger\.test\.ts/);
    assert.equal(error.cause?.message, 'connection refused');
    assert.equal(error.cause?.code, 'ECONNREFUSED');
    assert.match(String(error.cause?.stack), /logger\.test\.ts/);
  });

  it('prints errors for people below the line, causes and parts included', () => {
    const { logger, lines } = setUp({ format: 'text' });
    const parts = new AggregateError([new Error('first part'), 'second part'], 'all of it');
    logger.error('failed', { error: new Error('outer', { cause: parts }) });
    const shown = (lines[0] ?? '').split('\n').filter((line) => !line.includes(' at '));
    assert.deepEqual(shown, [
      '2026-01-01T00:00:00.000Z ERROR failed error=outer',
      '    Error: outer',
      '    caused by AggregateError: all of it',
      '    one of them Error: first part',
      '    one of them "second part"',
      '',
    ]);
    assert.match(lines[0] ?? '', /\n {8}at .*logger\.test\.ts/);
  });

  it('names objects of the API and does not dump them', () => {
    const { logger, json, all } = setUp();
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'tls', namespace: 'shop' },
      data: { 'tls.crt': 'aGlkZGVu' },
    };
    logger.info('read', { object: secret, all: { secret: [secret], inner: [secret] } });
    assert.equal(json().object, 'Secret/shop/tls');
    assert.doesNotMatch(all(), /aGlkZGVu/);
  });

  it('keeps the time, level and message of a line its own', () => {
    const { logger, json } = setUp();
    logger.info('real', { message: 'other', time: 5 });
    assert.equal(json().message, 'real');
    assert.equal(json()['field.message'], 'other');
    assert.equal(json()['field.time'], 5);
  });

  it('prints anything without throwing, in one line of JSON', () => {
    const { logger, lines } = setUp();
    const loop: Record<string, unknown> = { big: 1n, set: new Set([1]), map: new Map([['k', 'v']]), nan: Number.NaN };
    loop.self = loop;
    const hostile = Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    const cause = new Error('a');
    cause.cause = cause;
    logger.info('odd', {
      loop,
      hostile,
      cause,
      fn: () => 1,
      bytes: Buffer.from('hidden'),
      date: new Date(0),
      none: undefined,
    });
    assert.equal(lines.length, 1);
    const printed = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
    assert.equal(printed.bytes, '[6 bytes]');
    assert.equal(printed.hostile, '[unprintable]');
    assert.equal(printed.date, '1970-01-01T00:00:00.000Z');
    logger.info('deep', { value: JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) as unknown });
    assert.equal(lines.length, 2);
  });

  it('survives an output that throws', () => {
    const { logger } = setUp({
      write() {
        throw new Error('broken pipe');
      },
    });
    logger.info('this is not logged');
  });

  it('lets no text begin a line of its own or reach the terminal as a command', () => {
    const { logger, lines } = setUp({ format: 'text' });
    logger.info('a\n2026-01-01T00:00:00.000Z INFO  forged\u001b[2J', { value: 'b\r\nforged', sep: 'c\u2028d' });
    assert.equal(
      lines[0],
      '2026-01-01T00:00:00.000Z INFO  a\\n2026-01-01T00:00:00.000Z INFO  forged\\u{1b}[2J value="b\\r\\nforged" sep="c\\u{2028}d"\n',
    );
  });
});

describe('redaction', () => {
  it('hides fields that are named like secrets, at any depth, and shows whether they are set', () => {
    const { logger, json, all } = setUp();
    logger.info('x', {
      password: 'hunter2',
      auth: { bearerToken: 'hunter2', list: [{ 'client-key-data': 'hunter2' }] },
      env: [{ name: 'DB_PASSWORD', value: 'hunter2' }],
      map: new Map([['secretData', { a: 'hunter2' }]]),
      hasToken: true,
      secretName: 'shown',
    });
    assert.doesNotMatch(all(), /hunter2/);
    assert.equal(json().password, '[redacted]');
    assert.equal(json().secretName, 'shown');
    assert.equal(json().hasToken, true);
  });

  const names: [name: string, isSensitive: boolean][] = [
    ['token', true],
    ['tokens', true],
    ['accessToken', true],
    ['ACCESS_TOKEN', true],
    ['password', true],
    ['secret', true],
    ['secretData', true],
    ['stringData', true],
    ['apiKey', true],
    ['client-key-data', true],
    ['tls.key', true],
    ['pre-shared-key', true],
    ['credentials', true],
    ['Authorization', true],
    ['set-cookie', true],
    ['secretName', false],
    ['tokenFile', false],
    ['passwordRef', false],
    ['key', false],
    ['object', false],
    ['data', false],
    ['compass', false],
    ['', false],
  ];
  for (const [name, isSensitive] of names) {
    it(`${isSensitive ? 'hides' : 'shows'} a field named "${name}"`, () =>
      assert.equal(isSensitiveName(name), isSensitive));
  }

  it('never prints a registered value, in any of its forms, wherever it is', () => {
    const value = fc.string({ minLength: 4, unit: 'grapheme' }).filter((text) => text.trim().length >= 4);
    fc.assert(
      fc.property(value, fc.string(), fc.constantFrom('json' as const, 'text' as const), (secret, around, format) => {
        const { logger, redactor, all } = setUp({ format });
        redactor.redact(secret);
        const hidden = `${around}${secret}${around}`;
        const error = new Error(hidden, { cause: { why: hidden } });
        logger.with({ a: hidden }).error(hidden, {
          [hidden]: 1,
          nested: { list: [hidden, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)] },
          error,
        });
        // The text without the parts of every line: a secret might be "INFO".
        const printed = all().replaceAll('[redacted]', '');
        for (const form of [secret, JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString('base64')]) {
          const isPartOfTheFrame = setUpFrame(format).includes(form) || around.includes(form);
          if (!isPartOfTheFrame) assert.ok(!printed.includes(form), `${JSON.stringify(form)} in ${printed}`);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('forgets a value once everybody who registered it has', () => {
    const redactor = createRedactor();
    const first = redactor.redact('hunter22');
    const second = redactor.redact('hunter22\n');
    first();
    first();
    assert.equal(redactor.clean('is hunter22.'), 'is [redacted].');
    second();
    assert.equal(redactor.clean('is hunter22.'), 'is hunter22.');
  });

  it('hides the longer of two values that contain each other', () => {
    const redactor = createRedactor();
    redactor.redact('abcd');
    redactor.redact('abcdefgh');
    assert.equal(redactor.clean('abcdefgh'), '[redacted]');
  });

  it('hides numbers that were registered as text', () => {
    const { logger, redactor, json } = setUp();
    redactor.redact('123456');
    logger.info('x', { pin: 123456, other: 12 });
    assert.equal(json().pin, '[redacted]');
    assert.equal(json().other, 12);
  });

  const shapes: [text: string, clean: string][] = [
    ['Authorization: Bearer abc.def-123456', 'Authorization: Bearer [redacted]'],
    ['the bearer of news', 'the bearer of news'],
    ['https://user:pa55@host/x', 'https://user:[redacted]@host/x'],
    ['https://host:8443/x@y', 'https://host:8443/x@y'],
    ['a -----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY----- b', 'a [redacted] b'],
    ['cut -----BEGIN PRIVATE KEY-----\nMHc', 'cut [redacted]'],
    ['t eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln .', 't [redacted] .'],
  ];
  for (const [text, clean] of shapes) {
    it(`prints ${JSON.stringify(text)} as ${JSON.stringify(clean)}`, () => {
      assert.equal(createRedactor().clean(text), clean);
    });
  }
});

/** The parts of every line of this test. */
function setUpFrame(format: 'json' | 'text'): string {
  const { logger, all } = setUp({ format });
  logger
    .with({ a: '' })
    .error('', { '': 1, nested: { list: ['', '', ''] }, error: new Error('', { cause: { why: '' } }) });
  return all();
}
