// Holds every test on a stage to one rule: no value of a Secret that the program has read or created is in anything else that it writes:
// objects, statuses, annotations, Events, log lines. So each value of each Secret of a test is a canary, and no test has to plant one.
import type { ApiRequest, KubeObject, Logger, Transport, WatchEvent } from '@capstan/kube';
import { TestingErrors } from '../errors.ts';
import { canariesOf } from './canaries.ts';

export interface SecretsAudit {
  /** Wraps a transport: its requests count as the program's. */
  over(inner: Transport): Transport;
  /** Wraps the logger of the program. */
  logging(inner: Logger): Logger;
  /** Throws when a value of a Secret was written where others may read it. */
  check(): void;
}

export function createSecretsAudit(): SecretsAudit {
  /** Text that must not appear, with the Secret and key that it is from. */
  const canaries = new Map<string, string>();
  const found = new Set<string>();

  const learn = (body: unknown, isKnownSecret = false) => {
    const { kind, data, stringData, items, metadata } = (body ?? {}) as SecretLike;
    for (const item of items ?? []) learn(item, kind === 'SecretList');
    if (kind !== 'Secret' && !isKnownSecret) return;
    const name = `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
    const values = [
      ...Object.entries(data ?? {}).map(
        ([key, value]) => [key, Buffer.from(String(value), 'base64').toString()] as const,
      ),
      ...Object.entries(stringData ?? {}),
    ];
    for (const [key, value] of values)
      for (const canary of canariesOf(key, value)) canaries.set(canary, `${key} of Secret ${name}`);
  };

  const search = (text: string, place: string) => {
    for (const [canary, origin] of canaries) if (text.includes(canary)) found.add(`${origin} is in ${place}`);
  };

  const take = ({ method, path, body }: ApiRequest) => {
    if (method === 'GET' || body === undefined) return;
    if (SECRETS.test(path)) learn(body);
    else if (canaries.size > 0) search(JSON.stringify(body), `${method} ${path}`);
  };

  return {
    over: (inner) => ({
      address: inner.address,
      async request(request) {
        take(request);
        const answer = await inner.request(request);
        if (SECRETS.test(request.path)) learn(answer.body);
        return answer;
      },
      async watch(request) {
        const stream = await inner.watch(request);
        return 'status' in stream || !SECRETS.test(request.path) ? stream : learning(stream, learn);
      },
      close: () => inner.close(),
    }),
    logging: (inner) => auditedLogger(inner, (text) => search(text, 'a log line')),
    check() {
      if (found.size > 0) throw TestingErrors.SecretWritten([...found]);
    },
  };
}

const SECRETS = /\/secrets(?:\/|$)/;

interface SecretLike extends Partial<KubeObject> {
  readonly data?: Readonly<Record<string, unknown>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly items?: readonly unknown[];
}

async function* learning(
  stream: AsyncIterable<readonly WatchEvent[]>,
  learn: (body: unknown) => void,
): AsyncIterable<readonly WatchEvent[]> {
  for await (const events of stream) {
    for (const { object } of events) learn(object);
    yield events;
  }
}

function auditedLogger(inner: Logger, search: (text: string) => void): Logger {
  const level = (name: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields?: Record<string, unknown>) => {
    search(`${message} ${fields === undefined ? '' : textOf(fields)}`);
    inner[name](message, fields);
  };
  return {
    debug: level('debug'),
    info: level('info'),
    warn: level('warn'),
    error: level('error'),
    with(fields) {
      search(textOf(fields));
      return auditedLogger(inner.with(fields), search);
    },
  };
}

/** Errors are printed with their stack, which has the message, and with their cause. */
function textOf(value: unknown, depth = 0): string {
  if (typeof value !== 'object' || value === null || depth > 4) return String(value);
  if (value instanceof Error) return `${value.stack} ${textOf(value.cause, depth + 1)}`;
  return Object.entries(value)
    .map(([key, part]) => `${key}=${textOf(part, depth + 1)}`)
    .join(' ');
}
