// Which listeners of a Gateway a route attaches to, and under which names.
import { compileLabelSelector } from '@capstan/kube';
import { servedHosts } from '../api/hostnames.ts';
import type { GatewayLookup } from '../api/lookup.ts';
import type { RouteKindName } from '../api/objects.ts';
import type { ParentReference } from '../api/references.ts';
import type { ListenerState } from '../listeners/listener-state.ts';

export interface AttachedListener {
  readonly listener: string;
  readonly hosts: readonly string[];
}

export interface Attachment {
  readonly listeners: readonly AttachedListener[];
  /** Why there are none. */
  readonly refusal: { readonly reason: string; readonly message: string } | undefined;
}

export interface AttachingRoute {
  readonly kind: RouteKindName;
  readonly namespace: string;
  readonly hostnames: readonly string[] | undefined;
}

export function attach(
  route: AttachingRoute,
  parent: ParentReference,
  gateway: { readonly namespace: string; readonly listeners: readonly ListenerState[] },
  lookup: Pick<GatewayLookup, 'namespaceLabels'>,
): Attachment {
  const named = gateway.listeners.filter(
    ({ name, port }) =>
      (parent.sectionName === undefined || parent.sectionName === name) &&
      (parent.port === undefined || parent.port === port),
  );
  const what = [
    ...(parent.sectionName === undefined ? [] : [`name ${parent.sectionName}`]),
    ...(parent.port === undefined ? [] : [`port ${parent.port}`]),
  ].join(' and ');
  if (named.length === 0)
    return refused(
      'NoMatchingParent',
      `spec.parentRefs: no listener of the Gateway has the ${what || 'wanted name'}; correct the reference`,
    );
  const allowed = named.filter(
    (listener) => listener.kinds.includes(route.kind) && isAllowedNamespace(listener, route, gateway.namespace, lookup),
  );
  if (allowed.length === 0)
    return refused(
      'NotAllowedByListeners',
      `spec.parentRefs: no listener of the Gateway allows a ${route.kind} of namespace ${route.namespace}; change allowedRoutes of a listener`,
    );
  const listeners = allowed
    .map(({ name, host, mode }) => ({
      listener: name,
      hosts: mode === 'tcp' ? ['*'] : servedHosts(host, route.hostnames),
    }))
    .filter(({ hosts }) => hosts.length > 0);
  if (listeners.length === 0)
    return refused(
      'NoMatchingListenerHostname',
      `spec.hostnames: none of ${(route.hostnames ?? []).join(', ')} is covered by a listener that allows the route; correct them, or hostname of the listener`,
    );
  return { listeners, refusal: undefined };
}

function refused(reason: string, message: string): Attachment {
  return { listeners: [], refusal: { reason, message } };
}

function isAllowedNamespace(
  { allowed }: ListenerState,
  { namespace }: AttachingRoute,
  gatewayNamespace: string,
  lookup: Pick<GatewayLookup, 'namespaceLabels'>,
): boolean {
  const { from = 'Same', selector } = allowed?.namespaces ?? {};
  if (from === 'All') return true;
  if (from === 'Same') return namespace === gatewayNamespace;
  if (from !== 'Selector') return false;
  const labels = lookup.namespaceLabels(namespace);
  return labels !== undefined && compileLabelSelector(selector).matches(labels);
}
