import type { ApiRequest, Transport } from '@capstan/kube/cluster';
import { formatTraceparent } from './trace-context.ts';
import type { Tracer } from './tracer.ts';

/** A transport whose requests are spans, continued by API servers that trace too. Paths are shown, queries and bodies never. */
export function tracedTransport<T extends Transport>(transport: T, tracer: Tracer): T {
  async function traced<R extends object>(request: ApiRequest, send: (request: ApiRequest) => Promise<R>): Promise<R> {
    const span = tracer.startSpan(`${request.method} ${request.path}`, {
      'http.request.method': request.method,
      'url.path': request.path,
      'server.address': transport.address,
    });
    const headers = { ...request.headers, traceparent: formatTraceparent(span.context) };
    try {
      const answer = await send({ ...request, headers });
      if ('status' in answer && typeof answer.status === 'number') {
        span.setAttributes({ 'http.response.status_code': answer.status });
      }
      return answer;
    } catch (error) {
      span.recordError(error);
      throw error;
    } finally {
      span.end();
    }
  }
  return {
    ...transport,
    request: (request) => traced(request, (next) => transport.request(next)),
    watch: (request) => traced(request, (next) => transport.watch(next)),
  };
}
