// What servers leave out or rename in answers, corrected. Values that crossed the transport are shared, so these
// functions copy the outermost level where they must change it, and nothing else.
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

/** An object of an answer, as the kind it was asked for: lists omit apiVersion and kind, metadata-only answers have others. */
export function objectOf<T extends KubeObject>(kind: Kind<T>, value: unknown, origin: AnswerOrigin): T {
  if (!isObject(value)) throw notAnObject(origin);
  const { apiVersion, kind: name } = kind;
  const named = value.apiVersion === apiVersion && value.kind === name ? value : { ...value, apiVersion, kind: name };
  // The one place where the server's word is taken for the type: its schema is what the kind's type was built from.
  return named as T;
}

/** An answer whose kind depends on the subresource (Scale, TokenRequest, Eviction): given back as it is. */
export function subresourceOf<T extends KubeObject>(_kind: Kind<T>, value: unknown, origin: AnswerOrigin): T {
  if (!isRecord(value)) throw notAnObject(origin);
  return value as unknown as T;
}

export function pageOf<T extends KubeObject>(kind: Kind<T>, body: unknown, origin: AnswerOrigin): ListPage<T> {
  const metadata = isRecord(body) ? body['metadata'] : undefined;
  // Go writes an empty list as null in some places.
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
 * Whether what a delete answered still exists: finalizers or a grace period keep it. Some kinds answer with the object
 * even when it is gone.
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
