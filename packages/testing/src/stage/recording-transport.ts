import type { ApiRequest, Transport } from '@capstan/kube';

/** A transport that remembers every write that goes through it, for tests that count them. */
export interface RecordingTransport extends Transport {
  /** `VERB path` of every request that may change something, dry runs left out, in order. */
  readonly writes: readonly string[];
  /** Every request but watches, in the same form. */
  readonly requests: readonly string[];
  /** Forgets the recorded requests. */
  clear(): void;
}

export function recordingTransport(inner: Transport): RecordingTransport {
  const writes: string[] = [];
  const requests: string[] = [];
  return {
    address: inner.address,
    writes,
    requests,
    clear() {
      writes.length = 0;
      requests.length = 0;
    },
    request(request) {
      const line = `${request.method} ${request.path}`;
      requests.push(line);
      if (isWrite(request)) writes.push(line);
      return inner.request(request);
    },
    watch: (request) => inner.watch(request),
    close: () => inner.close(),
  };
}

function isWrite({ method, query }: ApiRequest): boolean {
  return method !== 'GET' && query?.['dryRun'] === undefined;
}
