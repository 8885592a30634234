import type { ApiResponse, Transport, WatchEvent, WatchStream } from '@capstan/kube';

/** The least that can be written to and watched: for the tests of the faults themselves. */
export interface FakeServer extends Transport {
  writes: number;
  openWatches: number;
  refuse: boolean;
  send(path: string, batch: WatchEvent[]): void;
}

export function fakeServer(): FakeServer {
  const queues = new Map<string, { batches: WatchEvent[][]; wake: () => void }>();
  const server: FakeServer = {
    address: 'memory',
    writes: 0,
    openWatches: 0,
    refuse: false,
    async request(request): Promise<ApiResponse> {
      await Promise.resolve();
      if (server.refuse) return { status: 403, headers: {}, body: {} };
      if (request.method !== 'GET' && request.query?.dryRun === undefined) server.writes++;
      return { status: 200, headers: {}, body: {} };
    },
    async watch(request) {
      const queue = { batches: [] as WatchEvent[][], wake: () => {} };
      queues.set(request.path, queue);
      server.openWatches++;
      return follow(queue, request.signal, () => server.openWatches--);
    },
    send(path, batch) {
      const queue = queues.get(path);
      queue?.batches.push(batch);
      queue?.wake();
    },
    async close() {},
  };
  return server;
}

async function* follow(
  queue: { batches: WatchEvent[][]; wake: () => void },
  signal: AbortSignal | undefined,
  closed: () => void,
): WatchStream {
  signal?.addEventListener('abort', () => queue.wake());
  try {
    for (;;) {
      if (signal?.aborted) return;
      const batch = queue.batches.shift();
      if (batch !== undefined) yield batch;
      else await new Promise<void>((resolve) => (queue.wake = resolve));
    }
  } finally {
    closed();
  }
}
