// Reports each rule that grants more than was declared, with the reason: a reader of the rules sees the limits of RBAC, and the possible
// remedies.
import type { Operator } from '../operator.ts';
import { LOCAL, type Role } from '../reconciler.ts';
import { type ExcessReason, type Privilege, privilegesOf } from './privileges.ts';
import { runtimePrivileges } from './runtime-privileges.ts';

/** A rule that could not be narrowed. */
export interface WideRule {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** Where it is granted: `everywhere`, `cluster`, `own`, `system`, `default`, or the namespaces. */
  readonly place: string;
  readonly reason: ExcessReason;
  /** The meaning of the reason, and the setting that narrows the rule, if there is one. */
  readonly message: string;
  /** The reconcilers and sinks that need it. */
  readonly neededBy: readonly string[];
}

const MESSAGES: Readonly<Record<ExcessReason, string>> = {
  MetadataOnly: 'only metadata is read; list and watch permit the content too',
  FieldsOnly: 'only some fields are read; RBAC permits whole objects',
  SelectedByLabel: 'only objects with a label are read; RBAC knows no labels',
  ReferencedNames: 'only objects that other objects name are read; RBAC cannot follow references',
  OwnObjectsOnly:
    'only objects that the operator created are changed or deleted; RBAC knows no owners, an admission policy does for Secrets',
  PatchedFields: 'only some fields are changed; RBAC permits whole objects',
  CreatedNames: 'the name of a new object is not known to the authorizer, so creation cannot be restricted by name',
  AnyNamespace: 'objects may be in any namespace; --watch-namespaces restricts the rule to Roles in some',
  GrantedToOthers:
    'the operator grants this right to other accounts, and Kubernetes requires that it has the right itself',
  Bounded: 'the roles that the operator writes depend on its objects; the administrator bounds them by the ClusterRole',
};

/** The rules of an operator that are wider than its declarations, by resource and reason. */
export function wideRulesOf(operator: Operator, role: Role = LOCAL): readonly WideRule[] {
  const privileges = [...privilegesOf(operator, role), ...(role === LOCAL ? runtimePrivileges(operator) : [])];
  const found = new Map<string, WideRule>();
  for (const privilege of privileges)
    for (const { reason, detail, verbs: some = privilege.verbs } of privilege.because ?? []) {
      const verbs = privilege.verbs.filter((verb) => some.includes(verb));
      if (verbs.length === 0) continue;
      const { group, resource } = privilege;
      const place = placeOf(privilege);
      const key = JSON.stringify([group, resource, place, reason]);
      const known = found.get(key);
      found.set(key, {
        group,
        resource,
        place,
        reason,
        message: detail === undefined ? MESSAGES[reason] : `${MESSAGES[reason]} ${detail}`,
        verbs: [...new Set([...(known?.verbs ?? []), ...verbs])],
        neededBy: [...new Set([...(known?.neededBy ?? []), privilege.by ?? 'runtime'])],
      });
    }
  return [...found.values()].toSorted((left, right) => (sortKey(left) < sortKey(right) ? -1 : 1));
}

function placeOf({ place, namespaces }: Privilege): string {
  return namespaces === undefined ? place : namespaces.join(',');
}

/** The widest rules come first. */
function sortKey({ reason, group, resource, place }: WideRule): string {
  return [reason === 'Bounded' ? 0 : 1, group, resource, place, reason].join(' ');
}
