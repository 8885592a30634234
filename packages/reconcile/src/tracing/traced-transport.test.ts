import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, Transport } from '@capstan/kube';
import { tracedTransport } from './traced-transport.ts';
import type { Attributes, Tracer } from './tracer.ts';

test('each request is a span that the server can continue, without its query or body', async () => {
  const sent: ApiRequest[] = [];
  const transport: Transport = {
    address: 'https://server',
    async request(request) {
      sent.push(request);
      if (request.path === '/broken') throw new Error('reset');
      return { status: 201, headers: {}, body: undefined };
    },
    watch: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  };
  const spans: { name: string; attributes: Attributes; error?: unknown; ended: boolean }[] = [];
  const tracer: Tracer = {
    startSpan(name, attributes = {}) {
      const span = {
        name,
        attributes: { ...attributes } as Record<string, Attributes[string]>,
        ended: false,
      } as (typeof spans)[number];
      spans.push(span);
      return {
        context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true },
        setAttributes: (more) => void (span.attributes = { ...span.attributes, ...more }),
        recordError: (error) => void (span.error = error),
        end: () => void (span.ended = true),
      };
    },
  };
  const traced = tracedTransport(transport, tracer);
  await traced.request({ method: 'POST', path: '/api/v1/secrets', query: { a: 'hidden' }, body: { data: 'hidden' } });
  await assert.rejects(traced.request({ method: 'GET', path: '/broken' }), /reset/);

  assert.equal(sent[0]?.headers?.['traceparent'], `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`);
  assert.deepEqual(sent[0]?.query, { a: 'hidden' });
  assert.deepEqual(
    spans.map(({ name, ended }) => [name, ended]),
    [
      ['POST /api/v1/secrets', true],
      ['GET /broken', true],
    ],
  );
  assert.equal(spans[0]?.attributes['http.response.status_code'], 201);
  assert.ok(spans[1]?.error instanceof Error);
  assert.doesNotMatch(JSON.stringify(spans), /hidden/);
});
