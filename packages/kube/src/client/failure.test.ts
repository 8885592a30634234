import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransportError, type TransportErrorKind } from '../errors.ts';
import { failureOf } from './failure.ts';

const request = { method: 'GET', path: '/x' } as const;
const coded = (code: string, more: object = {}) =>
  Object.assign(new Error(`secret text of ${code}`), { code, ...more });

const failures: [thrown: unknown, whileConnecting: boolean, kind: TransportErrorKind, maybeSent: boolean][] = [
  [coded('ECONNREFUSED'), true, 'refused', false],
  [Object.assign(new AggregateError([coded('ECONNREFUSED')], ''), { code: undefined }), true, 'refused', false],
  [new Error('outer', { cause: coded('ENOTFOUND') }), true, 'dns', false],
  [coded('ETIMEDOUT'), true, 'unreachable', false],
  [coded('ETIMEDOUT'), false, 'reset', true],
  [coded('ECONNRESET'), true, 'reset', false],
  [coded('ECONNRESET'), false, 'reset', true],
  [coded('UND_ERR_SOCKET'), false, 'reset', true],
  [coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), false, 'tls', false],
  [coded('CERT_REVOKED'), true, 'tls', false],
  [new DOMException('gone', 'AbortError'), false, 'aborted', true],
  [new DOMException('late', 'TimeoutError'), false, 'timeout', true],
  [new Error('who knows'), false, 'reset', true],
  ['a string', false, 'reset', true],
];

for (const [thrown, whileConnecting, kind, maybeSent] of failures) {
  test(`${String(thrown)}${whileConnecting ? ' while connecting' : ''} is ${kind}`, () => {
    const error = failureOf(thrown, 'https://c', request, { whileConnecting });
    assert.deepEqual([error.kind, error.maybeSent], [kind, maybeSent]);
    assert.match(error.message, /^GET \/x at https:\/\/c: [^;]+; .+/);
    assert.doesNotMatch(error.message, /secret text|who knows|a string/);
    assert.equal(error.cause, thrown);
  });
}

test('the caller’s abort explains any failure, and a TransportError stays unchanged', () => {
  const aborted = failureOf(coded('ECONNRESET'), 'x', { ...request, signal: AbortSignal.abort() });
  assert.equal(aborted.kind, 'aborted');
  const own = new TransportError('dns', 'x');
  assert.equal(failureOf(own, 'x', request), own);
});
