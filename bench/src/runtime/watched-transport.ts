import type { KubeObject, Transport, WatchEvent, WatchStream } from '@capstan/kube';

/** A transport that reports each event when it hands it over, before a reader has seen it. */
export function watchedTransport(inner: Transport, delivered: (object: KubeObject) => void): Transport {
  const report = (batch: readonly WatchEvent[]) => {
    for (const { object } of batch) delivered(object as KubeObject);
  };
  return {
    address: inner.address,
    request: (request) => inner.request(request),
    async watch(request) {
      const answer = await inner.watch(request);
      return 'status' in answer ? answer : reporting(answer, report);
    },
    close: () => inner.close(),
  };
}

function reporting(stream: WatchStream, report: (batch: readonly WatchEvent[]) => void): WatchStream {
  return {
    [Symbol.asyncIterator]() {
      const inner = stream[Symbol.asyncIterator]();
      return {
        async next() {
          const step = await inner.next();
          if (!step.done) report(step.value);
          return step;
        },
        return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}
