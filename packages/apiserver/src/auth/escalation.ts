// Nobody gives away what he does not have: whoever writes a role must hold its rules (or may `escalate`), whoever binds one
// must hold what it gives (or may `bind` it). The words are Kubernetes'.
import type { UnknownObject } from '@capstan/kube';
import type { Admission, AdmissionRequest, UserInfo } from '../core.ts';
import { forbidden } from '../errors.ts';
import { equalJson, isObject, textAt } from '../json/copy.ts';
import { nameOf } from '../resources/resource.ts';
import { describeRule, goList, missingRules, type PolicyRule, rulesOf } from './policy-rule.ts';
import {
  type Authorizer,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  MASTERS,
  RBAC_GROUP,
  ROLE_BINDINGS,
  ROLES,
} from './rbac.ts';

/** Runs the other admission first, so that what is judged is what will be stored. */
export function escalationAdmission(authorizer: Authorizer, first: Admission | undefined): Admission {
  const confirm = (request: AdmissionRequest, changed: UnknownObject | undefined) => {
    const object = changed ?? request.object;
    if (object && request.operation !== 'DELETE') judge(authorizer, request, object);
    return changed;
  };
  return (request) => {
    const asked = first?.(request);
    if (asked) return asked.then((changed) => confirm(request, changed));
    confirm(request, undefined);
    return undefined;
  };
}

function judge(authorizer: Authorizer, request: AdmissionRequest, object: UnknownObject): void {
  const { resource, old, context } = request;
  const { user } = context;
  if (resource.group !== RBAC_GROUP || user.groups.includes(MASTERS)) return;
  if (old && onlyMetadataDiffers(object, old)) return;
  const namespace = object.metadata.namespace ?? '';
  const name = object.metadata.name ?? '';
  const may = (verb: string, plural: string, of: string) =>
    authorizer.authorize(user, { verb, group: RBAC_GROUP, resource: plural, subresource: '', namespace, name: of })
      .allowed;
  const confirm = (rules: readonly PolicyRule[]) => {
    const missing = missingRules(authorizer.rulesFor(user, namespace), rules);
    if (missing.length > 0) throw forbidden(nameOf(resource), name, grantMessage(user, missing));
  };
  switch (resource.storageKey) {
    case CLUSTER_ROLES:
    case ROLES: {
      // On creation the request has no name yet.
      if (may('escalate', resource.plural, old ? name : '')) return;
      if (object['aggregationRule'] !== undefined || old?.['aggregationRule'] !== undefined) {
        if (missingRules(authorizer.rulesFor(user, ''), EVERYTHING).length > 0) {
          throw forbidden(nameOf(resource), name, 'must have cluster-admin privileges to use the aggregationRule');
        }
      }
      confirm(rulesOf(object));
      return;
    }
    case CLUSTER_ROLE_BINDINGS:
    case ROLE_BINDINGS: {
      const ref: unknown = object['roleRef'];
      if (!isObject(ref)) return;
      const role = { kind: textAt(ref, ['kind']), name: textAt(ref, ['name']) };
      if (may('bind', role.kind === 'ClusterRole' ? 'clusterroles' : 'roles', role.name)) return;
      confirm(authorizer.rulesOfRole(role, namespace));
      return;
    }
  }
}

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

function grantMessage(user: UserInfo, missing: readonly PolicyRule[]): string {
  const lines = [...new Set(missing.map(describeRule))].sort();
  return `user ${JSON.stringify(user.name)} (groups=${goList(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`;
}

/** Owner references and finalizers may be changed by whoever may write the object at all: the garbage collector does. */
function onlyMetadataDiffers(object: UnknownObject, old: UnknownObject): boolean {
  const plain = ({ metadata, ...rest }: UnknownObject) => ({
    ...rest,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([field]) => !FREE_FIELDS.has(field))),
  });
  return equalJson(plain(object), plain(old));
}

const FREE_FIELDS = new Set(['ownerReferences', 'finalizers', 'managedFields', 'resourceVersion']);
