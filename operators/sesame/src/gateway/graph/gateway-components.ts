// Everything that serves Gateways: a source of pieces for the xDS server, and the reconcilers that write statuses.
import type { Derived, ReadDeclaration, Reader, Reconciler } from '@capstan/reconcile';
import type { PieceProvider } from '../../routes/pieces.ts';
import type { RoutingSettings } from '../../routing/settings.ts';
import { type GatewayClass, type GatewayKinds, gatewayKinds, ROUTE_KINDS } from '../api/objects.ts';
import type { Placement } from '../envoy/port-listener.ts';
import { backendTlsPolicyStatus } from '../reconcilers/backend-tls-policy-status.ts';
import { gatewayClassStatus } from '../reconcilers/gateway-class-status.ts';
import { gatewayStatus, type Publication } from '../reconcilers/gateway-status.ts';
import { routeStatus } from '../reconcilers/route-status.ts';
import { unsupportedStatuses } from '../reconcilers/unsupported-status.ts';
import { type GatewayReads, gatewayReads } from '../routes/gateway-reads.ts';
import { type GatewayGraph, gatewayGraph } from './gateway-graph.ts';

export interface GatewayPartsOptions {
  readonly settings: Derived<RoutingSettings>;
  /** In the versions that the cluster serves; v1 by default. */
  readonly kinds?: GatewayKinds;
  /** Whether a Gateway of this key (NAMESPACE/NAME) and class is served here. */
  selects(read: Reader, key: string, className: string, reads: GatewayReads): boolean;
  /** Where Envoy opens the ports of a Gateway, by its key. */
  readonly placements: Derived<Placement | undefined>;
  /** Where clients reach it, by its key. */
  readonly publications: Derived<Publication>;
  /** Whose GatewayClasses are accepted here; without it the status of none is written. */
  readonly classes?: {
    isOurs(read: Reader, controllerName: string): boolean;
    parametersProblem?(read: Reader, spec: GatewayClass['spec']): string | undefined;
  };
}

export interface GatewayComponents {
  readonly provider: PieceProvider;
  readonly reads: readonly ReadDeclaration[];
  readonly reconcilers: readonly Reconciler[];
  readonly graph: GatewayGraph;
  readonly kinds: GatewayKinds;
}

export function gatewayComponents(options: GatewayPartsOptions): GatewayComponents {
  const { settings, placements, publications, classes } = options;
  const reads = gatewayReads(options.kinds ?? gatewayKinds(), (read) => read.derived(settings, '').ingress);
  const graph = gatewayGraph({
    reads,
    settings,
    placements,
    selects: (read, key, className) => options.selects(read, key, className, reads),
  });
  return {
    provider: graph,
    reads: reads.declarations,
    graph,
    kinds: reads.kinds,
    reconcilers: [
      ...(classes ? [gatewayClassStatus({ kind: reads.kinds.GatewayClass, ...classes })] : []),
      gatewayStatus({ reads, graph, publications }),
      ...ROUTE_KINDS.map((kind) => routeStatus({ kind, reads, graph })),
      backendTlsPolicyStatus({ reads, graph }),
      ...unsupportedStatuses({ reads, graph }),
    ],
  };
}
