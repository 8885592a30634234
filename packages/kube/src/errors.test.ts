import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ApiError,
  applyConflicts,
  catalogue,
  isAlreadyExists,
  isConflict,
  isGone,
  isNotFound,
  type Status,
  TransportError,
} from './errors.ts';

const apiError = (code: number, status: Status = {}) =>
  new ApiError({ code, status, method: 'PATCH', path: '/x', address: 'https://c' });

test('errors with the same code are distinguished by their reason', () => {
  const exists = apiError(409, { reason: 'AlreadyExists', message: 'pods "a" already exists' });
  assert.deepEqual([isAlreadyExists(exists), isConflict(exists)], [true, false]);
  const stale = apiError(409, { reason: 'Conflict' });
  assert.deepEqual([isAlreadyExists(stale), isConflict(stale)], [false, true]);
  assert.ok(isGone(apiError(410, { reason: 'Expired' })));
  assert.ok(!isNotFound(new Error('NotFound')));
});

test('an error without a reason gets the usual reason of its code', () => {
  const error = apiError(503);
  assert.equal(error.reason, 'ServiceUnavailable');
  assert.equal(
    error.message,
    'PATCH /x at https://c: the server answered 503 without a reason (503 ServiceUnavailable); try again, and check the log of the API server',
  );
});

test('an apply conflict names the manager and the field', () => {
  const cause = (message: string, field: string) => ({ reason: 'FieldManagerConflict', message, field });
  const error = apiError(409, {
    reason: 'Conflict',
    details: {
      causes: [
        cause('conflict with "kubectl-scale" with subresource "scale" using apps/v1', '.spec.replicas'),
        cause('conflict with "a \\"b\\"" using v1 at 2026-01-01T00:00:00Z', '.data.x'),
        { reason: 'Other', message: 'no', field: '.y' },
      ],
    },
  });
  assert.deepEqual(applyConflicts(error), [
    { manager: 'kubectl-scale', field: '.spec.replicas' },
    { manager: 'a "b"', field: '.data.x' },
  ]);
  assert.deepEqual(applyConflicts(apiError(404)), []);
  assert.deepEqual(applyConflicts(new Error('x')), []);
});

test('retryAfterSeconds in the Status counts if there is no header', () => {
  assert.equal(apiError(429, { details: { retryAfterSeconds: 4 } }).retryAfterSeconds, 4);
});

test('a transport error knows whether the request can have arrived', () => {
  assert.equal(new TransportError('refused', 'x').maybeSent, false);
  assert.equal(new TransportError('reset', 'x').maybeSent, true);
  assert.equal(new TransportError('timeout', 'x').maybeSent, true);
});

test('a catalogue makes errors with a code, a remedy and a cause', () => {
  const cause = new Error('below');
  const Errors = catalogue('cables', {
    UnknownDriver: (name: string) => ({
      message: `cable driver "${name}" is not known`,
      remedy: 'use wireguard',
      cause,
    }),
  });
  const error = Errors.UnknownDriver('rope');
  assert.equal(error.code, 'cables/UnknownDriver');
  assert.equal(error.message, 'cable driver "rope" is not known; use wireguard');
  assert.equal(error.cause, cause);
});
