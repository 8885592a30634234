// `kubectl --as`: a user who may impersonate acts as another client. Each part of the other identity needs a right of its own.
import type { UserInfo } from '../core.ts';
import { badRequest } from '../errors.ts';
import { type ResourceAttributes, refuse } from './attributes.ts';
import { ANONYMOUS, withAuthenticated } from './authenticate.ts';
import { type Authorizer, serviceAccountGroups } from './rbac.ts';

/** Whom a request wants to act as; undefined fields were not given. */
export interface Impersonated {
  user?: string;
  uid?: string;
  groups?: readonly string[];
  extra?: Readonly<Record<string, readonly string[]>>;
}

/** The user that the request acts as. Throws Forbidden. */
export function impersonate(authorizer: Authorizer, user: UserInfo, wanted: Impersonated): UserInfo {
  const { user: name, uid, groups = [], extra = {} } = wanted;
  if (name === undefined || name === '') {
    if (uid === undefined && groups.length === 0 && Object.keys(extra).length === 0) return user;
    throw badRequest(`requested ${JSON.stringify(wanted)} without impersonating a user name`);
  }
  const [, namespace, account] = SERVICE_ACCOUNT.exec(name) ?? [];
  const parts: ResourceAttributes[] = [
    namespace !== undefined && account !== undefined
      ? part('', 'serviceaccounts', account, { namespace })
      : part('', 'users', name),
    ...groups.map((group) => part('', 'groups', group)),
    ...(uid === undefined ? [] : [part(AUTHENTICATION, 'uids', uid)]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => part(AUTHENTICATION, 'userextras', value, { subresource: key })),
    ),
  ];
  for (const attributes of parts) {
    const { allowed, reason } = authorizer.authorize(user, attributes);
    if (!allowed) throw refuse(user, attributes, reason);
  }
  const implied = groups.length === 0 && namespace !== undefined ? serviceAccountGroups(namespace) : groups;
  return {
    name,
    groups: name === ANONYMOUS.name ? [...new Set([...implied, ...ANONYMOUS.groups])] : withAuthenticated(implied),
    ...(uid !== undefined && { uid }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

const AUTHENTICATION = 'authentication.k8s.io';
const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

const part = (
  group: string,
  resource: string,
  name: string,
  more: { namespace?: string; subresource?: string } = {},
): ResourceAttributes => ({ verb: 'impersonate', group, resource, subresource: '', namespace: '', name, ...more });
