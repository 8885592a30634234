// A body with tens of thousands of wrong values is refused at once, with the first of its errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedErrors, collectErrors } from './bounded-errors.ts';
import type { Status } from './errors.ts';
import { longestTurn } from './event-loop.test-support.ts';
import {
  CONFIG_MAPS,
  CRDS,
  DEPLOYMENTS,
  definition,
  deployment,
  testServer,
  WIDGETS,
  widget,
} from './server.test-support.ts';

const many = <T>(count: number, value: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => value(index));
const metadata = (name: string, more: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more } });

test('an object with very many errors is refused quickly, and the answer lists the first of them', async () => {
  const { ok, refused } = testServer();
  await ok(
    'POST',
    CRDS,
    definition({ many: { type: 'array', items: { type: 'string', pattern: '^b$', maxLength: 0, enum: ['q'] } } }),
  );
  const containers = many(20_000, () => ({}));
  const bodies: [path: string, body: unknown][] = [
    [WIDGETS, widget('a', { many: many(48_000, () => 'aa') })],
    [CONFIG_MAPS, metadata('a', { labels: Object.fromEntries(many(40_000, (index) => [`-${index}/-/x`, '-!'])) })],
    [CONFIG_MAPS, metadata('a', { finalizers: many(40_000, (index) => `-${index}`) })],
    // Each error shows the whole list.
    [
      CONFIG_MAPS,
      metadata('a', {
        ownerReferences: many(8_000, () => ({ controller: true, name: 'a', kind: 'b', apiVersion: 'c/d', uid: 'e' })),
      }),
    ],
    [DEPLOYMENTS, deployment('a', { template: { metadata: { labels: { app: 'a' } }, spec: { containers } } })],
  ];
  for (const [path, body] of bodies) {
    let answer: Status | undefined;
    const longest = await longestTurn(async () => {
      answer = await refused('POST', path, body);
    });
    assert.equal(answer?.code, 422);
    assert.match(answer.message ?? '', /, and more errors\]$/);
    assert.ok((answer.details?.causes?.length ?? 0) <= 1_000);
    // Without the bound, these take 1 to 4 s, and the owners minutes.
    assert.ok(longest < 700, `${path}: ${Math.round(longest)} ms`);
  }
});

test('a list of errors that is full ends the checks, and other errors pass through', () => {
  const error = { field: 'a', reason: 'FieldValueInvalid', message: 'b' } as const;
  const endless = () => {
    const errors = boundedErrors();
    for (;;) errors.push(error);
  };
  assert.equal(collectErrors(endless).length, 2_000);
  assert.deepEqual(
    collectErrors(() => [error]),
    [error],
  );
  assert.deepEqual(boundedErrors(), []);
  assert.throws(
    () =>
      collectErrors(() => {
        throw new TypeError('a defect');
      }),
    /a defect/,
  );
});
