// Users cannot grant rights that they do not hold: to write a role, they must hold its rules (or may `escalate`); to bind a role, they must
// hold its rules (or may `bind` it). The messages are those of Kubernetes.
import type { UnknownObject } from '@capstan/kube';
import type { Admission, AdmissionRequest, UserInfo } from '../core.ts';
import { forbidden, notFound, StatusError } from '../errors.ts';
import { equalJson, isObject, textAt } from '../json/copy.ts';
import { nameOf, type Resource } from '../resources/resource.ts';
import { describeRule, goList, missingRules, type PolicyRule, rulesOf } from './policy-rule.ts';
import {
  type Authorizer,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  formatErrors,
  MASTERS,
  RBAC_GROUP,
  ROLE_BINDINGS,
  ROLES,
  type RoleRef,
} from './rbac.ts';

/** Runs the other admission first, so that the final object is checked. */
export function escalationAdmission(authorizer: Authorizer, first: Admission | undefined): Admission {
  const confirm = (request: AdmissionRequest, changed: UnknownObject | undefined) => {
    const object = changed ?? request.object;
    if (object && request.operation !== 'DELETE') checkEscalation(authorizer, request, object);
    return changed;
  };
  return (request) => {
    const asked = first?.(request);
    if (asked) return asked.then((changed) => confirm(request, changed));
    confirm(request, undefined);
    return undefined;
  };
}

function checkEscalation(authorizer: Authorizer, request: AdmissionRequest, object: UnknownObject): void {
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
    const problems: string[] = [];
    // As with a role that is to be bound, the kind that is written is named.
    const held = authorizer.rulesFor(user, namespace, (role) =>
      problems.push(notFound(nameOf(resource), role.name).message),
    );
    const missing = missingRules(held, rules);
    if (missing.length > 0) throw forbidden(nameOf(resource), name, grantMessage(user, missing, problems));
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
      confirm(rulesToBind(authorizer, role, namespace, resource));
      return;
    }
  }
}

/** A role that is missing is reported as if it were of the kind that is written, as Kubernetes does. */
function rulesToBind(authorizer: Authorizer, role: RoleRef, namespace: string, resource: Resource): PolicyRule[] {
  try {
    return authorizer.rulesOfRole(role, namespace);
  } catch (error) {
    throw error instanceof StatusError && error.code === 404 ? notFound(nameOf(resource), role.name) : error;
  }
}

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

function grantMessage(user: UserInfo, missing: readonly PolicyRule[], problems: readonly string[]): string {
  const lines = [...new Set(missing.map(describeRule))].sort();
  const unresolved = problems.length === 0 ? '' : `; resolution errors: [${formatErrors(problems)}]`;
  return `user ${JSON.stringify(user.name)} (groups=${goList(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}${unresolved}`;
}

/** Owner references and finalizers may be changed by the one that may write the object at all: the garbage collector does. */
function onlyMetadataDiffers(object: UnknownObject, old: UnknownObject): boolean {
  const plain = ({ metadata, ...rest }: UnknownObject) => ({
    ...rest,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([field]) => !FREE_FIELDS.has(field))),
  });
  return equalJson(plain(object), plain(old));
}

const FREE_FIELDS = new Set(['ownerReferences', 'finalizers', 'managedFields', 'resourceVersion']);
