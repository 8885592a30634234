import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TransportError, type TransportErrorKind } from '../errors.ts';
import {
  DEFAULT_RETRY,
  isRepeatable,
  isRetryableFailure,
  isRetryableResponse,
  retryAfterSeconds,
  retryDelay,
} from './retry.ts';
import type { ApiRequest } from './transport.ts';

const path = '/api/v1/namespaces/a/configmaps/b';
const requests: Record<string, { request: ApiRequest; repeatable: boolean }> = {
  get: { request: { method: 'GET', path }, repeatable: true },
  create: { request: { method: 'POST', path, body: { metadata: { name: 'b' } } }, repeatable: false },
  'create with generateName': {
    request: { method: 'POST', path, body: { metadata: { generateName: 'b-' } } },
    repeatable: false,
  },
  'create as dry run': { request: { method: 'POST', path, query: { dryRun: 'All' } }, repeatable: true },
  update: { request: { method: 'PUT', path, body: { metadata: { resourceVersion: '1' } } }, repeatable: true },
  apply: { request: { method: 'PATCH', path, contentType: 'application/apply-patch+yaml' }, repeatable: true },
  'merge patch': { request: { method: 'PATCH', path, contentType: 'application/merge-patch+json' }, repeatable: true },
  'JSON patch': {
    request: {
      method: 'PATCH',
      path,
      contentType: 'application/json-patch+json',
      body: [{ op: 'add', path: '/data/list/-', value: 1 }],
    },
    repeatable: false,
  },
  'JSON patch guarded by the resourceVersion': {
    request: {
      method: 'PATCH',
      path,
      contentType: 'application/json-patch+json',
      body: [
        { op: 'test', path: '/metadata/resourceVersion', value: '4' },
        { op: 'remove', path: '/data/x' },
      ],
    },
    repeatable: true,
  },
  delete: { request: { method: 'DELETE', path, body: { kind: 'DeleteOptions' } }, repeatable: false },
  'delete of one uid': { request: { method: 'DELETE', path, body: { preconditions: { uid: 'u' } } }, repeatable: true },
};

for (const [name, { request, repeatable }] of Object.entries(requests)) {
  test(`${name} is ${repeatable ? '' : 'not '}sent again after a lost answer`, () => {
    assert.equal(isRepeatable(request), repeatable);
    assert.equal(isRetryableFailure(request, new TransportError('reset', 'x')), repeatable);
    assert.equal(isRetryableFailure(request, new TransportError('reset', 'x', { maybeSent: false })), true);
    assert.equal(isRetryableFailure(request, new TransportError('refused', 'x')), true);
    for (const status of [500, 502, 504]) {
      assert.equal(isRetryableResponse(request, { status, headers: {}, body: {} }), repeatable, String(status));
    }
    for (const status of [429, 503])
      assert.equal(isRetryableResponse(request, { status, headers: {}, body: {} }), true);
  });
}

test('a permanent failure is never sent again', () => {
  const request: ApiRequest = { method: 'GET', path };
  for (const status of [400, 401, 403, 404, 409, 410, 422, 501]) {
    assert.equal(isRetryableResponse(request, { status, headers: {}, body: {} }), false, String(status));
  }
  const kinds: TransportErrorKind[] = ['tls', 'timeout', 'aborted', 'closed', 'malformed', 'too-large', 'credentials'];
  for (const kind of kinds) assert.equal(isRetryableFailure(request, new TransportError(kind, 'x')), false, kind);
});

test("the client's own wait doubles up to its limit, jittered between half and whole", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, random) => {
      const whole = Math.min(5_000, 200 * 2 ** (attempt - 1));
      const delay = retryDelay(DEFAULT_RETRY, attempt, undefined, () => random);
      assert.ok(delay !== undefined && delay >= whole / 2 && delay <= whole);
    }),
  );
});

test("the server's wait is never shortened, and a wait beyond the limit ends the call", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (asked, random) => {
      const delay = retryDelay(DEFAULT_RETRY, 1, asked, () => random);
      if (asked > 30) assert.equal(delay, undefined);
      else assert.ok(delay !== undefined && delay >= asked * 1000);
    }),
  );
});

test('Retry-After is parsed as seconds or as a date', () => {
  const now = Date.UTC(2026, 0, 1);
  const read = (value: string) => retryAfterSeconds({ 'retry-after': value }, now);
  assert.equal(read('7'), 7);
  assert.equal(read('Thu, 01 Jan 2026 00:00:05 GMT'), 5);
  assert.equal(read('Wed, 31 Dec 2025 00:00:00 GMT'), 0);
  assert.equal(read('soon'), undefined);
  assert.equal(retryAfterSeconds({}, now), undefined);
});
