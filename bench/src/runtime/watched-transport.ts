import type { KubeObject, Transport, WatchEvent, WatchStream } from '@capstan/kube';

/** A transport that tells of each event when it hands it over, before anybody has seen it. */
export function watchedTransport(inner: Transport, delivered: (object: KubeObject) => void): Transport {
  const tell = (batch: readonly WatchEvent[]) => {
    for (const { object } of batch) delivered(object as KubeObject);
  };
  return {
    address: inner.address,
    request: (request) => inner.request(request),
    async watch(request) {
      const answer = await inner.watch(request);
      return 'status' in answer ? answer : told(answer, tell);
    },
    close: () => inner.close(),
  };
}

function told(stream: WatchStream, tell: (batch: readonly WatchEvent[]) => void): WatchStream {
  return {
    [Symbol.asyncIterator]() {
      const inner = stream[Symbol.asyncIterator]();
      return {
        async next() {
          const step = await inner.next();
          if (!step.done) tell(step.value);
          return step;
        },
        return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}
