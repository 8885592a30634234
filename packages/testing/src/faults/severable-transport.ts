// The way to a cluster that can be cut and restored: while it is cut, requests are refused and no event arrives; requests that
// are under way then, and open watches, break. It is how a whole cluster goes away and comes back.
import type { ApiRequest, ApiResponse, Transport, WatchEvent, WatchStream } from '@capstan/kube';
import { connectionRefused, connectionReset } from '../errors.ts';
import { requestLine } from './fault-log.ts';

export interface SeverableTransport extends Transport {
  readonly isSevered: boolean;
  sever(): void;
  restore(): void;
}

export function severableTransport(inner: Transport): SeverableTransport {
  const { address } = inner;
  /** Aborted when the way is cut; a new one from the moment that it is restored. */
  let cut = new AbortController();

  /** Settles as the work does, unless the way is cut before. */
  function unlessCut<T>(request: ApiRequest, work: Promise<T>, { signal }: AbortController): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const broken = () => reject(connectionReset(address, requestLine(request)));
      signal.addEventListener('abort', broken, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', broken));
    });
  }

  async function* events(request: ApiRequest, stream: WatchStream, way: AbortController, close: () => void) {
    const batches = stream[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next: IteratorResult<readonly WatchEvent[]> = await unlessCut(request, batches.next(), way);
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      close();
      batches.return?.().catch(() => {});
    }
  }

  return {
    address,
    get isSevered() {
      return cut.signal.aborted;
    },
    sever: () => cut.abort(),
    restore() {
      if (cut.signal.aborted) cut = new AbortController();
    },
    async request(request) {
      if (cut.signal.aborted) throw connectionRefused(address, requestLine(request));
      return unlessCut(request, inner.request(request), cut);
    },
    async watch(request): Promise<WatchStream | ApiResponse> {
      if (cut.signal.aborted) throw connectionRefused(address, requestLine(request));
      const way = cut;
      // The server's side of the watch ends with the way to it.
      const connection = new AbortController();
      const abort = () => connection.abort(request.signal?.reason);
      request.signal?.addEventListener('abort', abort, { once: true });
      way.signal.addEventListener('abort', abort, { once: true });
      if (request.signal?.aborted) abort();
      const close = () => {
        request.signal?.removeEventListener('abort', abort);
        way.signal.removeEventListener('abort', abort);
        connection.abort();
      };
      try {
        const opened = await unlessCut(request, inner.watch({ ...request, signal: connection.signal }), way);
        if (Symbol.asyncIterator in opened) return events(request, opened, way, close);
        close();
        return opened;
      } catch (error) {
        close();
        throw error;
      }
    },
    close: () => inner.close(),
  };
}
