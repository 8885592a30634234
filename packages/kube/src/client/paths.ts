// The paths of objects in the API, and the query parameters of each request.
import { RequestErrors } from '../errors.ts';
import type { Kind } from '../kind.ts';
import type { DeleteOptions, ListOptions, WatchOptions, WriteOptions } from './client.ts';

/** Returns `/api/v1/pods` or `/apis/apps/v1/namespaces/x/deployments`. Without a namespace, the path covers all namespaces. */
export function collectionPath(kind: Kind, namespace?: string): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const isNamespaced = kind.scope === 'Namespaced' && namespace !== undefined && namespace !== '';
  return isNamespaced ? `${root}/namespaces/${escape(namespace)}/${kind.plural}` : `${root}/${kind.plural}`;
}

/** Returns the path for creating objects. Unlike collectionPath, it requires the namespace. */
export function creationPath(kind: Kind, ref: { namespace?: string; name?: string }, action: string): string {
  const { namespace, name = '' } = ref;
  if (namespace !== undefined) checkName(kind, namespace, action);
  if (kind.scope === 'Namespaced' && !namespace) throw RequestErrors.NoNamespace(action, kind.kind, name);
  return collectionPath(kind, namespace);
}

/**
 * Returns the path of an object or one of its subresources. The check of the name matters: without a name, this would be the path of the
 * collection.
 */
export function objectPath(
  kind: Kind,
  ref: { namespace?: string; name?: string },
  action: string,
  subresource?: string,
): string {
  const { name } = ref;
  if (!name) throw RequestErrors.NoName(action, kind.kind);
  checkName(kind, name, action);
  const path = `${creationPath(kind, ref, action)}/${escape(name)}`;
  return subresource ? `${path}/${subresource.split('/').map(escape).join('/')}` : path;
}

export type Query = Record<string, string>;

export function listQuery(options: ListOptions): Query {
  return {
    ...selectorQuery(options),
    ...text('limit', options.limit),
    ...text('continue', options.continue),
    ...text('resourceVersion', options.resourceVersion),
    ...text('resourceVersionMatch', options.resourceVersionMatch),
  };
}

export function watchQuery(options: WatchOptions): Query {
  return {
    watch: 'true',
    ...selectorQuery(options),
    ...text('resourceVersion', options.resourceVersion),
    ...text('timeoutSeconds', options.timeoutSeconds),
    ...text('allowWatchBookmarks', options.allowBookmarks),
    // The server refuses sendInitialEvents without this match.
    ...(options.sendInitialEvents && { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }),
  };
}

export function writeQuery(options: WriteOptions): Query {
  return {
    ...text('fieldManager', options.fieldManager),
    ...text('fieldValidation', options.fieldValidation),
    ...dryRunQuery(options),
  };
}

export function dryRunQuery(options: Pick<WriteOptions | DeleteOptions, 'dryRun'>): Query {
  return options.dryRun ? { dryRun: 'All' } : {};
}

function selectorQuery(options: { labelSelector?: string; fieldSelector?: string }): Query {
  return { ...text('labelSelector', options.labelSelector), ...text('fieldSelector', options.fieldSelector) };
}

function text(name: string, value: string | number | boolean | undefined): Query {
  return value === undefined || value === '' ? {} : { [name]: String(value) };
}

// Refuses a name that no object can have and that would change the path.
function checkName(kind: Kind, name: string, action: string): void {
  if (name === '.' || name === '..' || /[/%]/.test(name)) throw RequestErrors.BadName(action, kind.kind, name);
}

function escape(segment: string): string {
  return encodeURIComponent(segment);
}
