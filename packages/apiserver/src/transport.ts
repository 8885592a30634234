import {
  type ApiRequest,
  type ApiResponse,
  freezeDeep,
  type Transport,
  TransportError,
  type WatchEvent,
  type WatchStream,
} from '@capstan/kube';

/**
 * A transport that calls the server in this process. Nothing is copied: answers share their objects with the server and with
 * other clients, and are frozen.
 */
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
      if (isResponse(answer))
        return { ...answer, body: isTextStream(answer.body) ? await textOf(answer.body) : freezeDeep(answer.body) };
      throw new TransportError('malformed', address, {
        message: 'a watch was asked for as a plain request',
        remedy: 'use watch()',
      });
    },
    async watch(request) {
      const signal = request.signal ? AbortSignal.any([request.signal, closing.signal]) : closing.signal;
      const answer = await call({ ...request, signal });
      if (isResponse(answer)) return answer;
      const lost = () => {
        const kind = request.signal?.aborted ? 'aborted' : 'closed';
        return signal.aborted ? new TransportError(kind, address, { request: `GET ${request.path}` }) : undefined;
      };
      return breakable(answer, lost);
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

/** A body that is written as it comes (a log): an answer whose body is this is not JSON. */
export function isTextStream(body: unknown): body is AsyncIterable<string> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

async function textOf(stream: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of stream) text += piece;
  return text;
}

/** The stream, which breaks (as a connection does) once `lost` returns an error, where the server would merely end it. */
function breakable(stream: WatchStream, lost: () => Error | undefined): WatchStream {
  return {
    [Symbol.asyncIterator]() {
      const iterator = stream[Symbol.asyncIterator]();
      let broken = false;
      const advance = async (): Promise<IteratorResult<readonly WatchEvent[]>> => {
        if (broken) return { done: true, value: undefined };
        const next = await iterator.next();
        const error = lost();
        if (!error) {
          for (const event of next.done ? [] : next.value) freezeDeep(event.object);
          return next;
        }
        broken = true;
        await iterator.return?.();
        throw error;
      };
      return {
        next() {
          const next = advance();
          // The one that aborted may not listen any more; that is no error of the process.
          next.catch(() => {});
          return next;
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}
