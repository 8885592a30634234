// The ingress half of the operator, to be put beside the rest of it: kinds, reconcilers and the xDS sink over one graph.
import type { Derived, OwnedKind, ReadDeclaration, Reader, Reconciler, Sink } from '@capstan/reconcile';
import { derivation } from '@capstan/reconcile';
import { type ContourLease, routeKinds } from '../kinds/contour.ts';
import { contourStatuses } from '../reconcilers/contour-statuses.ts';
import { delegationStatus } from '../reconcilers/delegation-status.ts';
import { extensionServiceStatus } from '../reconcilers/extension-service-status.ts';
import { httpProxyStatus, type Refusals } from '../reconcilers/http-proxy-status.ts';
import { ingressEvents } from '../reconcilers/ingress-events.ts';
import type { Piece } from '../routing/assembly/piece.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { type PieceProvider, type RouteGraph, routeGraph } from './pieces.ts';
import { type RefusingNode, type XdsSinkOptions, xdsSink } from './xds-sink.ts';

export interface IngressPartsOptions extends Omit<XdsSinkOptions, 'graph'> {
  /** The effective configuration, read with the empty key. While it suspends, nothing is served. */
  readonly settings: Derived<RoutingSettings>;
  /** Gateways, served beside HTTPProxies and Ingresses; none by default. */
  readonly gateways?: {
    readonly provider: PieceProvider;
    readonly reads: readonly ReadDeclaration[];
    readonly reconcilers: readonly Reconciler[];
  };
  /** Contour's objects are read too, and their statuses are left to the holder of this Lease. */
  readonly contour?: ContourLease | undefined;
  /** Addresses for `status.loadBalancer`; none by default. */
  loadBalancer?(read: Reader): { readonly ingress?: readonly object[] } | undefined;
}

export interface IngressComponents {
  readonly kinds: readonly OwnedKind[];
  readonly reconcilers: readonly Reconciler[];
  readonly sinks: readonly Sink[];
  /** The xDS server among them: the acknowledgements and refusals of Envoys are read from it. */
  readonly xds: Sink<Piece, RefusingNode>;
  readonly graph: RouteGraph;
}

export function ingressComponents({
  settings,
  gateways,
  loadBalancer,
  contour,
  ...options
}: IngressPartsOptions): IngressComponents {
  const graph = routeGraph(settings, gateways ? [gateways.provider] : []);
  const xds = xdsSink({ graph, ...options, ...(gateways && { reads: gateways.reads }) });
  /** The refusals of Envoys, by the origin of the refused resource: one small value that rarely changes, whatever they acknowledge. */
  const refusals = derivation<Refusals>({
    name: 'refusals',
    compute({ read }) {
      const found: Record<string, string[]> = {};
      for (const { row } of read.sink(xds).reports())
        for (const { message, origins } of row.rejections)
          for (const origin of origins) (found[origin] ??= []).push(`${row.node}: ${message.trim()}`);
      return found;
    },
  });
  const addresses = loadBalancer ? { loadBalancer } : {};
  const { HTTPProxy, TLSCertificateDelegation, ExtensionService } = routeKinds(contour);
  const left = contour && contourStatuses(contour);
  return {
    kinds: [HTTPProxy, TLSCertificateDelegation, ExtensionService],
    reconcilers: [
      httpProxyStatus({ graph, refusals, ...addresses, contour: left, kind: HTTPProxy }),
      ingressEvents({ graph, refusals, ...addresses, contour: left }),
      extensionServiceStatus({ graph, refusals, contour: left, kind: ExtensionService }),
      delegationStatus({ contour: left, kind: TLSCertificateDelegation }),
      ...(gateways?.reconcilers ?? []),
    ],
    sinks: [xds],
    xds,
    graph,
  };
}
