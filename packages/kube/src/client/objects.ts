// Restores the fields that servers omit or rename in answers. Values from a transport are shared, so these functions copy only the
// outermost level, and only to change it.
import { TransportError } from '../errors.ts';
import { isRecord } from '../json/is-record.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../object.ts';
import type { ListPage } from './client.ts';

export interface AnswerOrigin {
  address: string;
  /** Method and path. */
  request: string;
}

/** Returns an object of an answer with the requested kind. Lists omit apiVersion and kind, and metadata-only answers have others. */
export function objectOf<T extends KubeObject>(kind: Kind<T>, value: unknown, origin: AnswerOrigin): T {
  if (!isObject(value)) throw notAnObject(origin);
  const { apiVersion, kind: name } = kind;
  const named = value.apiVersion === apiVersion && value.kind === name ? value : { ...value, apiVersion, kind: name };
  // This is the only place where an answer is cast to the type. The kind's type was built from the server's schema.
  return named as T;
}

/** Returns an answer unchanged whose kind depends on the subresource (Scale, TokenRequest, Eviction). */
export function subresourceOf<T extends KubeObject>(_kind: Kind<T>, value: unknown, origin: AnswerOrigin): T {
  if (!isRecord(value)) throw notAnObject(origin);
  return value as unknown as T;
}

export function pageOf<T extends KubeObject>(kind: Kind<T>, body: unknown, origin: AnswerOrigin): ListPage<T> {
  const metadata = isRecord(body) ? body['metadata'] : undefined;
  // Go writes some empty lists as null.
  const items: unknown = isRecord(body) ? (body['items'] ?? []) : undefined;
  if (!isRecord(metadata) || !Array.isArray(items)) throw notAnObject(origin);
  const { resourceVersion, continue: token, remainingItemCount } = metadata;
  return {
    items: items.map((item: unknown) => objectOf(kind, item, origin)),
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
    ...(typeof token === 'string' && token !== '' && { continue: token }),
    ...(typeof remainingItemCount === 'number' && { remainingItemCount }),
  };
}

/**
 * Reports whether a deleted object still exists because of finalizers or a grace period. Some kinds answer a delete with the object even if
 * it is gone.
 */
export function lingers(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { finalizers, deletionGracePeriodSeconds: grace } = value.metadata;
  return (finalizers?.length ?? 0) > 0 || (grace ?? 0) > 0;
}

function isObject(value: unknown): value is KubeObject {
  return isRecord(value) && isRecord(value['metadata']);
}

function notAnObject({ address, request }: AnswerOrigin): TransportError {
  return new TransportError('malformed', address, { request });
}
