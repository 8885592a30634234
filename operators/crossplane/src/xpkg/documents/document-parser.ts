// Small documents are parsed at once, large ones in a thread that lives as long as the parser is in use. There is one thread for all:
// packages that arrive together wait for each other instead of taking every core. A document that exhausts memory ends the thread and not
// the program.
import { Worker } from 'node:worker_threads';
import { PackageErrors } from '../errors.ts';
import { type DocumentParser, parseYaml } from './yaml-stream.ts';
import type { ParseReply, ParseRequest } from './yaml-worker.ts';

export interface SharedParser {
  /** Runs the work with a parser; the thread ends with the last work that uses it. */
  use<T>(work: (parse: DocumentParser) => Promise<T>): Promise<T>;
}

/** About five milliseconds of parsing. */
const SMALL = 8 * 1024;
const MAX_THREAD_MB = 512;

/** `maxThreadMb`: memory of the thread, default 512. */
export function createSharedParser(maxThreadMb = MAX_THREAD_MB): SharedParser {
  let users = 0;
  let thread: Thread | undefined;
  const parse: DocumentParser = async (text, place) => {
    if (text.length <= SMALL) return parseYaml(text, place);
    for (;;) {
      if (thread === undefined || thread.hasEnded()) thread = startThread(maxThreadMb);
      try {
        return await thread.parse(text, place);
      } catch (error) {
        // Another document ended the thread; that one has got its error, so this cannot go on for ever.
        if (!(error instanceof ThreadLost)) throw error;
      }
    }
  };
  return {
    async use(work) {
      users++;
      try {
        return await work(parse);
      } finally {
        if (--users === 0) {
          const last = thread;
          thread = undefined;
          await last?.end();
        }
      }
    },
  };
}

class ThreadLost extends Error {}

interface Thread {
  parse: DocumentParser;
  hasEnded(): boolean;
  end(): Promise<void>;
}

function startThread(maxMb: number): Thread {
  const worker = new Worker(new URL('yaml-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: maxMb },
  });
  const waiting = new Map<number, { place: string; resolve(value: unknown): void; reject(error: Error): void }>();
  let ids = 0;
  let hasEnded = false;
  worker.on('message', (reply: ParseReply) => {
    const waiter = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (waiter === undefined) return;
    if ('json' in reply) waiter.resolve(JSON.parse(reply.json));
    else waiter.reject(PackageErrors.BadYaml(waiter.place, reply.problem));
  });
  const fail = (why: string) => {
    hasEnded = true;
    // Documents are taken in the order in which they came: the first of those that wait is the one at work.
    const [guilty, ...others] = waiting.values();
    waiting.clear();
    guilty?.reject(PackageErrors.BadYaml(guilty.place, why));
    for (const { reject } of others) reject(new ThreadLost());
  };
  worker.on('error', (error: NodeJS.ErrnoException) =>
    fail(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it takes too much memory' : error.message),
  );
  worker.on('exit', () => fail('parsing it was ended'));
  return {
    parse: (text, place) =>
      new Promise((resolve, reject) => {
        const request: ParseRequest = { id: ids++, text };
        waiting.set(request.id, { place, resolve, reject });
        worker.postMessage(request, []);
      }),
    hasEnded: () => hasEnded,
    async end() {
      await worker.terminate();
    },
  };
}
