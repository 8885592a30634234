// Selects the webhooks that a request concerns. The rules look only at the request, so they are tried first; selectors and conditions look
// at the object as it is by then.
import type { CompiledLabelSelector, RuleWithOperations, UnknownObject } from '@capstan/kube';
import type { AdmissionRequest } from '../core.ts';
import type { Resource, ResourceVersion } from '../resources/resource.ts';
import type { Store } from '../store/store.ts';

/** The scope of a webhook or a policy. */
export interface MatchScope {
  /** With names, only objects of these. */
  readonly rules: readonly (RuleWithOperations & { readonly resourceNames?: readonly string[] })[];
  readonly namespaces: CompiledLabelSelector;
  readonly objects: CompiledLabelSelector;
  /** A request in another version of the same resource counts too. */
  readonly matchesEquivalent: boolean;
}

const REGISTRATION_GROUP = 'admissionregistration.k8s.io';
const NAMESPACES = '/namespaces';

/** No webhook is asked about webhooks: who registered a broken one could never take it back. */
export const isExempt = ({ group }: Resource): boolean => group === REGISTRATION_GROUP;

/** The version in which the webhook wants to see the request, or undefined when no rule is about it. */
export function versionFor(
  webhook: Pick<MatchScope, 'rules' | 'matchesEquivalent'>,
  request: AdmissionRequest,
): ResourceVersion | undefined {
  const { version, resource } = request;
  const wants = (candidate: ResourceVersion) => webhook.rules.some((rule) => isAbout(rule, request, candidate.name));
  if (wants(version)) return version;
  return webhook.matchesEquivalent ? resource.versions.find((other) => other.served && wants(other)) : undefined;
}

function isAbout(rule: MatchScope['rules'][number], request: AdmissionRequest, version: string): boolean {
  const { operation, resource, subresource = '' } = request;
  return (
    holds(rule.operations, operation) &&
    holds(rule.apiGroups, resource.group) &&
    holds(rule.apiVersions, version) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(request.name)) &&
    (rule.resources ?? []).some((text) => {
      const [name = '', sub = ''] = text.split('/');
      return (name === '*' || name === resource.plural) && (sub === '*' || sub === subresource);
    }) &&
    (rule.scope === undefined || rule.scope === '*' || (rule.scope === 'Namespaced') === resource.namespaced)
  );
}

const holds = (wanted: readonly string[] | undefined, value: string): boolean =>
  (wanted ?? []).some((one) => one === '*' || one === value);

/** Whether the selectors choose the request's object and its namespace. */
export function isSelected(store: Store, webhook: MatchScope, request: AdmissionRequest): boolean {
  return isNamespaceSelected(store, webhook, request) && isObjectSelected(webhook, request);
}

function isNamespaceSelected(store: Store, { namespaces }: MatchScope, request: AdmissionRequest): boolean {
  const { resource, namespace, object, subresource } = request;
  if (namespaces.terms.length === 0 || namespace === '') return true;
  // The one that makes or changes a namespace is judged by the labels that it would have.
  const isItself = resource.storageKey === NAMESPACES && subresource === undefined;
  const owner = (isItself ? object : undefined) ?? store.get(NAMESPACES, namespace);
  return namespaces.matches(owner?.metadata.labels ?? {});
}

/** An object that has or had the labels: removing them does not avoid the webhook. */
function isObjectSelected({ objects }: MatchScope, { object, old }: AdmissionRequest): boolean {
  if (objects.terms.length === 0) return true;
  const matches = (one: Partial<UnknownObject> | undefined) =>
    one !== undefined && objects.matches(one.metadata?.labels ?? {});
  return matches(object) || matches(old);
}
