// Whether rules allow everything that another rule asks for: the question behind every permission request.
import type { PolicyRule } from '@capstan/kube';

/** The parts of the request that no rule allows, in words. Empty: all of it is allowed. */
export function refusedParts(allowed: readonly PolicyRule[], request: PolicyRule): string[] {
  const refused: string[] = [];
  for (const verb of request.verbs) {
    for (const url of request.nonResourceURLs ?? [])
      if (
        !allowed.some(
          (rule) => has(rule.verbs, verb) && (rule.nonResourceURLs ?? []).some((one) => coversUrl(one, url)),
        )
      )
        refused.push(`${verb} ${url}`);
    for (const group of request.apiGroups ?? [])
      for (const resource of request.resources ?? [])
        for (const name of request.resourceNames?.length ? request.resourceNames : [undefined])
          if (!allowed.some((rule) => allows(rule, verb, group, resource, name)))
            refused.push(
              `${verb} ${resource}${group === '' ? '' : `.${group}`}${name === undefined ? '' : ` ${name}`}`,
            );
  }
  return refused;
}

function allows(rule: PolicyRule, verb: string, group: string, resource: string, name: string | undefined): boolean {
  const names = rule.resourceNames ?? [];
  return (
    has(rule.verbs, verb) &&
    has(rule.apiGroups, group) &&
    hasResource(rule.resources, resource) &&
    (names.length === 0 || (name !== undefined && names.includes(name)))
  );
}

function has(list: readonly string[] | undefined, wanted: string): boolean {
  return list?.some((one) => one === '*' || one === wanted) ?? false;
}

/** `*` is everything, and a star before a subresource the status of everything. */
function hasResource(list: readonly string[] | undefined, wanted: string): boolean {
  if (has(list, wanted)) return true;
  const slash = wanted.indexOf('/');
  return slash >= 0 && (list?.includes(`*${wanted.slice(slash)}`) ?? false);
}

function coversUrl(allowed: string, wanted: string): boolean {
  return allowed === wanted || (allowed.endsWith('*') && wanted.startsWith(allowed.slice(0, -1)));
}
