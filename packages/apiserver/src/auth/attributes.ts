import type { ApiRequest } from '@capstan/kube';
import type { UserInfo } from '../core.ts';
import { forbidden, forbiddenPath, type StatusError } from '../errors.ts';
import { isTrue } from '../rest/options.ts';
import { parseResourcePath } from '../rest/route.ts';

/** The action that a user requests, as authorization sees it. */
export type Attributes = ResourceAttributes | PathAttributes;

export interface ResourceAttributes {
  verb: string;
  group: string;
  resource: string;
  /** Empty for the object itself. */
  subresource: string;
  /** Empty for cluster-scoped resources and for all namespaces. */
  namespace: string;
  /** Empty for collections. */
  name: string;
}

/** A path outside of the resources: discovery, health. */
export interface PathAttributes {
  verb: string;
  path: string;
}

export const isPath = (attributes: Attributes): attributes is PathAttributes => 'path' in attributes;

/** Reads the attributes off a request. */
export function attributesOf(request: ApiRequest): Attributes {
  const path = parseResourcePath(request.path);
  if (!path) return { verb: request.method.toLowerCase(), path: request.path };
  const name = path.name ?? '';
  const verb = verbOf(request, name);
  // A namespace is thought to be inside itself, so that a Role in it can give rights on it.
  const namespace = path.namespace ?? (path.plural === 'namespaces' && path.group === '' ? name : '');
  return {
    verb,
    group: path.group,
    resource: path.plural,
    subresource: path.subresource ?? '',
    namespace,
    name: name === '' ? selectedName(request) : name,
  };
}

/** The verb that a method means; of a collection where the name is empty. */
export function verbOf({ method, query = {} }: ApiRequest, name: string): string {
  switch (method) {
    case 'GET':
      if (isTrue(query, 'watch')) return 'watch';
      return name === '' ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
  }
}

/** A list or watch of one name is about that name, so that rules with resourceNames cover it. */
function selectedName({ method, query = {} }: ApiRequest): string {
  if (method !== 'GET' && method !== 'DELETE') return '';
  return /(?:^|,)metadata\.name=(?!=)([^,]+)/.exec(query['fieldSelector'] ?? '')?.[1] ?? '';
}

/** The refusal, in Kubernetes' words. */
export function refuse(user: UserInfo, attributes: Attributes, reason: string): StatusError {
  const why = reason === '' ? '' : `: ${reason}`;
  if (isPath(attributes)) {
    return forbiddenPath(`User ${quoted(user.name)} cannot ${attributes.verb} path ${quoted(attributes.path)}${why}`);
  }
  const { verb, group, resource, subresource, namespace, name } = attributes;
  const what = quoted(subresource === '' ? resource : `${resource}/${subresource}`);
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${quoted(namespace)}`;
  const message = `User ${quoted(user.name)} cannot ${verb} resource ${what} in API group ${quoted(group)} ${where}`;
  return forbidden({ group, resource }, name, `${message}${why}`);
}

const quoted = (text: string) => JSON.stringify(text);
