// UDPRoutes and ListenerSets are not supported. Those that name a Gateway of ours say so, instead of waiting for ever.

import { externalKind, type KubeObject } from '@capstan/kube';
import { plan, type Reconciler, reading, reconciler } from '@capstan/reconcile';
import { condition, nestedConditions } from '../api/nested-conditions.ts';
import type { RouteStatus } from '../api/objects.ts';
import { GATEWAY_GROUP, isGatewayParent, type ParentReference, parentKey } from '../api/references.ts';
import type { GatewayGraph } from '../graph/gateway-graph.ts';
import type { GatewayReads } from '../routes/gateway-reads.ts';

interface UDPRoute extends KubeObject {
  spec: { readonly parentRefs?: readonly ParentReference[] | undefined };
  status?: RouteStatus;
}

interface ListenerSet extends KubeObject {
  spec: { readonly parentRef: ParentReference };
}

const external = <T extends KubeObject>(kind: string, plural: string) =>
  externalKind<T>({ group: GATEWAY_GROUP, version: 'v1', kind, plural, scope: 'Namespaced', hasStatus: true });

export interface UnsupportedOptions {
  readonly reads: GatewayReads;
  readonly graph: GatewayGraph;
}

export function unsupportedStatuses(options: UnsupportedOptions): Reconciler[] {
  return [udpRouteStatus(options), listenerSetStatus(options)];
}

function udpRouteStatus({ reads, graph }: UnsupportedOptions): Reconciler {
  const kind = external<UDPRoute>('UDPRoute', 'udproutes');
  return reconciler<UDPRoute>({
    name: 'udproute-status',
    resource: kind,
    reads: [reading(kind, 'everywhere', { optional: true }), ...reads.declarations],
    writesStatus: true,
    primary: false,
    reconcile({ object, read }) {
      const { namespace = '', generation } = object.metadata;
      const before = object.status?.parents ?? [];
      const ownerOf = (parent: ParentReference) =>
        isGatewayParent(parent) ? read.derived(graph.gateways, parentKey(parent, namespace)) : undefined;
      const ours = (object.spec.parentRefs ?? []).flatMap((parentRef) => {
        const controllerName = ownerOf(parentRef)?.controllerName;
        if (controllerName === undefined) return [];
        const existing = before.find(
          (each) => each.controllerName === controllerName && each.parentRef.name === parentRef.name,
        );
        const refused = condition(
          'Accepted',
          false,
          'NotAllowedByListeners',
          'kind: UDPRoutes are not supported; use a TCPRoute, or another controller',
        );
        return [
          { parentRef, controllerName, conditions: nestedConditions([refused], existing?.conditions, generation) },
        ];
      });
      const others = before.filter(
        ({ parentRef, controllerName }) => ownerOf(parentRef)?.controllerName !== controllerName,
      );
      if (ours.length === 0 && others.length === before.length) return plan({});
      return plan({ status: { parents: [...others, ...ours] } });
    },
  });
}

function listenerSetStatus({ reads, graph }: UnsupportedOptions): Reconciler {
  const kind = external<ListenerSet>('ListenerSet', 'listenersets');
  return reconciler<ListenerSet>({
    name: 'listenerset-status',
    resource: kind,
    reads: [reading(kind, 'everywhere', { optional: true }), ...reads.declarations],
    writesStatus: true,
    primary: false,
    reconcile({ object, read }) {
      const { parentRef } = object.spec;
      const isOurs =
        isGatewayParent(parentRef) &&
        read.derived(graph.gateways, parentKey(parentRef, object.metadata.namespace ?? '')) !== undefined;
      if (!isOurs) return plan({});
      const message = 'kind: ListenerSets are not supported; put the listeners into the Gateway';
      return plan({
        conditions: [
          condition('Accepted', false, 'NotAllowed', message),
          condition('Programmed', false, 'NotAllowed', message),
        ],
      });
    },
  });
}
