import { isBlamedOnServer, isPanic } from './known-differences.ts';
import type { Answer, DiffRequest, Sequence } from './sequence.ts';

/** One place where two answers to one request are not the same. */
export interface Difference {
  request: DiffRequest;
  /** As in `body.metadata.labels.a`; indexes are left out, so that alike differences have one name. */
  path: string;
  real: unknown;
  embedded: unknown;
}

/** Returns the differences between the answers of the two servers to the same sequence; at most `limit` for each request. */
export function differencesOf(
  { requests }: Sequence,
  real: readonly Answer[],
  embedded: readonly Answer[],
  limit = 8,
): Difference[] {
  return requests.flatMap((request, index) => {
    const found: Difference[] = [];
    const [expected, actual] = [real[index], embedded[index]];
    if (isPanic(request, expected, actual) || isBlamedOnServer(expected, actual)) return [];
    if (expected?.status !== actual?.status) {
      // A refusal and a success have nothing in common that could be compared.
      found.push({ request, path: 'status', real: summary(expected), embedded: summary(actual) });
    } else compare(expected, actual, '', found, request);
    return found.slice(0, limit);
  });
}

function summary(answer: Answer | undefined): unknown {
  const { message, reason } = (answer?.body ?? {}) as { message?: string; reason?: string };
  return { status: answer?.status, reason, message };
}

function compare(real: unknown, embedded: unknown, path: string, found: Difference[], request: DiffRequest): void {
  if (real === embedded) return;
  if (Array.isArray(real) && Array.isArray(embedded) && real.length === embedded.length) {
    for (const [index, one] of real.entries()) compare(one, embedded[index], `${path}[]`, found, request);
  } else if (isObject(real) && isObject(embedded)) {
    for (const key of new Set([...Object.keys(real), ...Object.keys(embedded)])) {
      compare(real[key], embedded[key], path === '' ? key : `${path}.${key}`, found, request);
    }
  } else found.push({ request, path, real, embedded });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Alike differences have the same class: the request with its kind, and the place where the answers differ. */
export function classOf({ request, path, real, embedded }: Difference): string {
  const parts = request.path
    .replace(/\{ns\}[^/]*/g, 'NS')
    .split('/')
    .filter((part) => part !== '');
  const index = parts[0] === 'api' ? 2 : 3;
  const rest = parts[index] === 'namespaces' && parts.length > index + 2 ? parts.slice(index + 2) : parts.slice(index);
  const what = [rest[0], rest[2]].filter((part) => part !== undefined).join('/');
  const type = /apply-patch|strategic|merge-patch|json-patch|yaml|protobuf/.exec(request.contentType ?? '')?.[0] ?? '';
  const codes = path === 'status' ? ` ${code(real)} ${code(embedded)}` : '';
  return [
    request.watch ? 'WATCH' : request.method,
    type,
    what,
    `${path.replaceAll(/f:[^.]*|k:\{[^}]*\}/g, 'F')}${codes}`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function code(value: unknown): string {
  return String((value as { status?: number }).status);
}
