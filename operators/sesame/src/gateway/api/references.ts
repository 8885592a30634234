// References of the Gateway API: their targets, with the API's defaults filled in, and the permission to cross namespaces.

export const GATEWAY_GROUP = 'gateway.networking.k8s.io';

export interface ParentReference {
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly sectionName?: string | undefined;
  readonly port?: number | undefined;
}

export interface ObjectReference {
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface BackendReference extends ObjectReference {
  readonly port?: number | undefined;
  readonly weight?: number | undefined;
}

export interface GrantSpec {
  readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[];
  readonly to: readonly { readonly group: string; readonly kind: string; readonly name?: string | undefined }[];
}

/** Who refers to something. */
export interface Referrer {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
}

export interface Referent {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Within a namespace always; into another one only where a ReferenceGrant of that namespace allows it. */
export function isPermitted(
  from: Referrer,
  to: Referent,
  grantsIn: (namespace: string) => readonly GrantSpec[],
): boolean {
  if (from.namespace === to.namespace) return true;
  return grantsIn(to.namespace).some(
    (grant) =>
      grant.from.some(
        ({ group, kind, namespace }) => group === from.group && kind === from.kind && namespace === from.namespace,
      ) &&
      grant.to.some(
        ({ group, kind, name }) =>
          group === to.group && kind === to.kind && (name === undefined || name === '' || name === to.name),
      ),
  );
}

/** Whether a parent reference names a Gateway. */
export function isGatewayParent({ group = GATEWAY_GROUP, kind = 'Gateway' }: ParentReference): boolean {
  return group === GATEWAY_GROUP && kind === 'Gateway';
}

/** NAMESPACE/NAME of the parent, from the point of view of a route. */
export function parentKey(parent: ParentReference, routeNamespace: string): string {
  return `${parent.namespace ?? routeNamespace}/${parent.name}`;
}
