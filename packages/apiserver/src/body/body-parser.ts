// Small bodies are parsed at once, large ones in a thread, one after the other, in an order that is fair to users and connections. A body
// that takes the thread too long, or too much memory, ends the thread and not the server.
import { Worker } from 'node:worker_threads';
import { type Clock, reasonOf, type Timer } from '@capstan/kube';
import { badRequest, notAcceptableForm, type StatusError, tooManyValues } from '../errors.ts';
import { createFairQueue, type Sender } from '../fairness/fair-queue.ts';
import { MAX_DEPTH, MAX_VALUES } from '../json/value-limits.ts';
import { readText, type TextForm } from './body-text.ts';
import type { ParseReply, ParseRequest } from './body-worker.ts';
import { type ParsedText, TextRefusal } from './json-text.ts';

export interface BodyParser {
  /** Throws the error that the client receives; a text with mistakes is a result, with the problem in it. */
  parse(text: string, form: TextForm, sender: Sender): ParsedText | Promise<ParsedText>;
  close(): Promise<void>;
}

/** The sizes of texts that are parsed within some milliseconds. */
const SMALL: Readonly<Record<TextForm, number>> = { json: 64 * 1024, yaml: 8 * 1024, 'to-yaml': 8 * 1024 };
/** The slowest text of the permitted size takes about a second, on a busy machine some. */
const PARSE_MS = 20_000;
const MAX_THREAD_MB = 512;
/** A thread takes some megabytes: it ends when there is nothing to do. */
const IDLE_MS = 30_000;

interface Job {
  readonly request: ParseRequest;
  resolve(parsed: ParsedText): void;
  reject(error: StatusError): void;
}

export function createBodyParser(clock: Clock): BodyParser {
  const waiting = createFairQueue<Job>();
  let worker: Worker | undefined;
  let running: Job | undefined;
  let timer: Timer | undefined;

  const next = (): void => {
    timer?.cancel();
    running = waiting.shift();
    if (!running) {
      timer = clock.after(IDLE_MS, () => void end());
      return;
    }
    worker ??= startWorker();
    worker.ref();
    timer = clock.after(PARSE_MS, () => fail('it takes too long'));
    worker.postMessage(running.request, []);
  };

  /** Ends the thread, whose present job is to blame. */
  const fail = (why: string): void => {
    const job = running;
    running = undefined;
    void end();
    job?.reject(failureOf(job.request, why));
    next();
  };

  const startWorker = (): Worker => {
    const started = new Worker(new URL('body-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_THREAD_MB },
    });
    started.on('message', (reply: ParseReply) => {
      const job = running;
      running = undefined;
      started.unref();
      if (job) settle(job, reply);
      next();
    });
    const lost = (why: string) => {
      if (worker !== started) return;
      worker = undefined;
      fail(why);
    };
    started.on('error', (error: NodeJS.ErrnoException) =>
      lost(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it takes too much memory' : reasonOf(error)),
    );
    started.on('exit', () => lost('the thread has ended'));
    return started;
  };

  const end = async (): Promise<void> => {
    timer?.cancel();
    const last = worker;
    worker = undefined;
    await last?.terminate();
  };

  return {
    parse(text, form, sender) {
      if (text.length <= SMALL[form]) return refusing(() => readText(text, form));
      return new Promise((resolve, reject) => {
        waiting.push(sender, { request: { text, form }, resolve, reject });
        if (!running) next();
      });
    },
    close: end,
  };
}

function failureOf({ form }: ParseRequest, why: string): StatusError {
  return form === 'to-yaml'
    ? notAcceptableForm(`the answer cannot be written as YAML: ${why}; ask for application/json`)
    : badRequest(`the body of the request cannot be parsed: ${why}`);
}

function settle(job: Job, reply: ParseReply): void {
  if ('refusal' in reply) job.reject(refusalOf(reply.refusal));
  else if ('problem' in reply) job.resolve({ value: undefined, duplicates: [], problem: reply.problem });
  else job.resolve({ value: JSON.parse(reply.json), duplicates: reply.duplicates });
}

function refusing(read: () => ParsedText): ParsedText {
  try {
    return read();
  } catch (error) {
    throw error instanceof TextRefusal ? refusalOf(error.reason) : error;
  }
}

function refusalOf(reason: TextRefusal['reason']): StatusError {
  return reason === 'depth'
    ? badRequest(`the body of the request is nested more than ${MAX_DEPTH} levels deep`)
    : tooManyValues(MAX_VALUES);
}
