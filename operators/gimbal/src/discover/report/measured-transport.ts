import type { ApiRequest, Clock, Transport } from '@capstan/kube/cluster';

/** A transport that reports how long each call took, under a path without names and ids. */
export function measuredTransport(
  inner: Transport,
  clock: Clock,
  called: (path: string, ms: number, isOk: boolean) => void,
): Transport {
  async function measure<R>(request: ApiRequest, make: () => Promise<R>, isOk: (answer: R) => boolean): Promise<R> {
    const started = clock.now();
    const report = (ok: boolean) => called(templateOf(request.path), clock.now() - started, ok);
    try {
      const answer = await make();
      report(isOk(answer));
      return answer;
    } catch (error) {
      if (request.signal?.aborted !== true) report(false);
      throw error;
    }
  }
  return {
    address: inner.address,
    request: (request) =>
      measure(
        request,
        () => inner.request(request),
        ({ status }) => status < 400,
      ),
    watch: (request) =>
      measure(
        request,
        () => inner.watch(request),
        (answer) => !('status' in answer),
      ),
    close: () => inner.close(),
  };
}

/** Ids of OpenStack (with and without hyphens), and names of Kubernetes after a collection. */
export function templateOf(path: string): string {
  return path
    .replace(/\/[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}(?=\/|$)/g, '/{id}')
    .replace(/\/namespaces\/[^/]+/, '/namespaces/{name}');
}
