// Counts the rights that a program uses, as Kubernetes asks for them: the request itself, the creation by an apply, the owner
// references that block deletion (admission plugin OwnerReferencesPermissionEnforcement), and the rules of roles that it writes,
// which a user must hold to grant them.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Attributes, attributesOf, isPath, missingRules, type PolicyRule } from '@capstan/apiserver';
import type { ApiRequest, ApiResponse, Kind, KubeObject, Transport } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { describeRight, isAllowedBy, type Places, type Right, rightsOf } from './right.ts';

export interface RightsAudit {
  /** Wraps a transport: its requests count as the program's. */
  over(inner: Transport): Transport;
  /** The rights that were used and those that were not, as lines. */
  result(): { readonly used: readonly string[]; readonly unused: readonly string[] };
  /** Adds the result to the records of this run of the tests, where it keeps some (CAPSTAN_RIGHTS names their folder). */
  record(env?: Readonly<Record<string, string | undefined>>): void;
}

export const RIGHTS_FOLDER = 'CAPSTAN_RIGHTS';

export function createRightsAudit(operators: readonly Operator[], places: Places): RightsAudit {
  const rights = operators.flatMap((operator) => rightsOf(operator, places));
  const plurals = new Map(
    operators.flatMap(({ reconcilers }) =>
      reconcilers.flatMap(({ resource }) =>
        [resource, ...aliasesOf(resource)].map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind] as const),
      ),
    ),
  );
  const used = new Set<Right>();
  const seen = new Set<string>();
  const use = (attributes: Attributes) => {
    for (const also of impliedVerbs(attributes.verb)) use({ ...attributes, verb: also });
    const key = JSON.stringify(attributes);
    if (seen.has(key)) return;
    seen.add(key);
    for (const right of rights) if (isAllowedBy(right, attributes)) used.add(right);
  };

  const take = (request: ApiRequest, answer: ApiResponse) => {
    const attributes = attributesOf(request);
    use(attributes);
    // The runtime asks for the object when its status has changed meanwhile.
    if (!isPath(attributes) && attributes.subresource === 'status')
      use({ ...attributes, subresource: '', verb: 'get' });
    if (answer.status >= 300 || isPath(attributes)) return;
    // An apply that creates is authorized as a creation too.
    if (answer.status === 201 && attributes.verb === 'patch') use({ ...attributes, verb: 'create' });
    if (request.method !== 'GET' && attributes.subresource === '') takeObject(attributes, answer.body);
  };

  const takeObject = (attributes: Exclude<Attributes, { path: string }>, body: unknown) => {
    const { metadata, rules } = (body ?? {}) as KubeObject & { rules?: readonly PolicyRule[] };
    for (const owner of metadata?.ownerReferences ?? []) {
      const kind = owner.blockOwnerDeletion ? plurals.get(`${owner.apiVersion} ${owner.kind}`) : undefined;
      if (kind === undefined) continue;
      const namespace = kind.scope === 'Namespaced' ? attributes.namespace : '';
      const { group, plural: resource } = kind;
      use({ verb: 'update', group, resource, subresource: 'finalizers', namespace, name: owner.name });
    }
    if (attributes.group === 'rbac.authorization.k8s.io') grant(rules ?? [], attributes);
  };

  /** Marks the rights by which the program holds the rules that it grants. Rules within a bound are not rights of the operator. */
  const grant = (rules: readonly PolicyRule[], { namespace }: { namespace: string }) => {
    const held = rights.filter(({ namespaces }) => namespaces === undefined || namespaces.includes(namespace));
    for (const right of held) if (rules.some((rule) => coversPart(right.rule, rule))) used.add(right);
  };

  const result = () => {
    const unused = rights.filter((right) => !used.has(right));
    return { used: [...used].map(describeRight).toSorted(), unused: unused.map(describeRight).toSorted() };
  };
  return {
    over: (inner) => ({
      address: inner.address,
      async request(request) {
        const answer = await inner.request(request);
        take(request, answer);
        return answer;
      },
      watch(request) {
        use(attributesOf({ ...request, query: { ...request.query, watch: 'true' } }));
        return inner.watch(request);
      },
      close: () => inner.close(),
    }),
    result,
    record(env = process.env) {
      const folder = env[RIGHTS_FOLDER];
      if (folder === undefined) return;
      appendFileSync(
        join(folder, `${process.pid}.txt`),
        result()
          .used.map((line) => `${line}\n`)
          .join(''),
      );
    },
  };
}

/**
 * Verbs that the runtime needs besides one, on other servers or at other moments: a watch that cannot stream the first state is preceded
 * by a list, and after a conflict the object is asked for.
 */
function impliedVerbs(verb: string): readonly string[] {
  if (verb === 'watch') return ['list'];
  return verb === 'patch' || verb === 'update' || verb === 'delete' ? ['get'] : [];
}

/** Other kinds under which objects of a kind are written. */
function aliasesOf(kind: Kind): readonly Kind[] {
  const { aliases = [] } = kind as Kind & { readonly aliases?: readonly { readonly kind: Kind }[] };
  return aliases.map((alias) => alias.kind);
}

/** Whether some part of the rule is covered by this one. */
function coversPart(held: PolicyRule, rule: PolicyRule): boolean {
  const parts = (rule.apiGroups ?? []).flatMap((group) =>
    (rule.resources ?? []).flatMap((resource) =>
      rule.verbs.map((verb) => ({ ...rule, apiGroups: [group], resources: [resource], verbs: [verb] })),
    ),
  );
  return parts.some((part) => missingRules([held], [part]).length === 0);
}
