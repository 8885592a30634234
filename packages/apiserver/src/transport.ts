import { type ApiRequest, type ApiResponse, type Transport, TransportError, type WatchStream } from '@capstan/kube';

/** A transport that calls the server in this process. Nothing is copied: whoever gets a value must not change it. */
export function inProcessTransport(
  address: string,
  handle: (request: ApiRequest) => Promise<ApiResponse | WatchStream>,
  isServerClosed: () => boolean,
): Transport {
  const closing = new AbortController();

  const call = async (request: ApiRequest): Promise<ApiResponse | WatchStream> => {
    const line = `${request.method} ${request.path}`;
    if (closing.signal.aborted) throw new TransportError('closed', address, { request: line, maybeSent: false });
    if (isServerClosed()) throw new TransportError('refused', address, { request: line });
    if (request.signal?.aborted) throw new TransportError('aborted', address, { request: line, maybeSent: false });
    return handle(request);
  };

  return {
    address,
    async request(request) {
      const answer = await call(request);
      if (isResponse(answer)) return answer;
      throw new TransportError('malformed', address, {
        message: 'a watch was asked for as a plain request',
        remedy: 'use watch()',
      });
    },
    watch: (request) => {
      const signal = request.signal ? AbortSignal.any([request.signal, closing.signal]) : closing.signal;
      return call({ ...request, signal });
    },
    close() {
      closing.abort();
      return Promise.resolve();
    },
  };
}

export function isResponse(answer: ApiResponse | WatchStream): answer is ApiResponse {
  return 'status' in answer;
}
