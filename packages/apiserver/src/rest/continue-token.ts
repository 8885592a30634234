import { badRequest } from '../errors.ts';
import { isObject } from '../json/copy.ts';
import { goJsonError } from '../json/go-json-error.ts';

/** Where a paged list goes on: after a key, at a revision (undefined: now, when the old one is gone). */
export interface ContinueToken {
  revision: number | undefined;
  after: string;
}

/** Opaque to clients, the same form as Kubernetes' own: version, revision, key. */
export function encodeContinue(token: ContinueToken): string {
  const text = JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.revision ?? -1, start: token.after });
  return Buffer.from(text, 'utf8').toString('base64url');
}

export function decodeContinue(text: string): ContinueToken {
  const bad = /[^\w-]/.exec(text.replace(/={1,2}$/, ''));
  const illegal = bad?.index ?? (text.length % 4 === 1 ? text.length - 1 : undefined);
  if (illegal !== undefined) throw notValid(`illegal base64 data at input byte ${illegal}`);
  // One character a byte, as Go looks at it.
  const json = Buffer.from(text, 'base64url').toString('latin1');
  const problem = goJsonError(json);
  if (problem !== undefined) throw notValid(problem);
  // To Go null is a token without anything in it.
  const parsed = (JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) ?? {}) as unknown;
  if (!isObject(parsed))
    throw notValid(`json: cannot unmarshal ${goType(parsed)} into Go value of type storage.continueToken`);
  const { v, rv, start } = parsed;
  if (v !== 'meta.k8s.io/v1')
    throw notValid(`server does not recognize this encoded version ${JSON.stringify(v ?? '')}`);
  if (!Number.isSafeInteger(rv) || typeof rv !== 'number' || rv === 0)
    throw notValid('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  if (typeof start !== 'string' || start === '') throw notValid('encoded start key empty (version meta.k8s.io/v1)');
  return { revision: rv < 0 ? undefined : rv, after: start };
}

const goType = (value: unknown) =>
  Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;

const notValid = (problem: string) => badRequest(`invalid continue token: continue key is not valid: ${problem}`);
