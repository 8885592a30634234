// The ingress half of the operator, to be put beside the rest of it: kinds, reconcilers and the xDS sink over one graph.
import type { Derived, OwnedKind, ReadDeclaration, Reader, Reconciler, Sink } from '@capstan/reconcile';
import { derivation } from '@capstan/reconcile';
import { ExtensionService } from '../kinds/extension-service.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
import { delegationStatus } from '../reconcilers/delegation-status.ts';
import { extensionServiceStatus } from '../reconcilers/extension-service-status.ts';
import { httpProxyStatus, type Refusals } from '../reconcilers/http-proxy-status.ts';
import { ingressEvents } from '../reconcilers/ingress-events.ts';
import type { Piece } from '../routing/assembly/piece.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import type { NodeReport } from '../xds/index.ts';
import { type PieceProvider, type RouteGraph, routeGraph } from './pieces.ts';
import { type XdsSinkOptions, xdsSink } from './xds-sink.ts';

export interface IngressPartsOptions extends Omit<XdsSinkOptions, 'graph'> {
  /** The effective configuration, read with the empty key. While it suspends, nothing is served. */
  readonly settings: Derived<RoutingSettings>;
  /** Gateways, served beside HTTPProxies and Ingresses; none by default. */
  readonly gateways?: {
    readonly provider: PieceProvider;
    readonly reads: readonly ReadDeclaration[];
    readonly reconcilers: readonly Reconciler[];
  };
  /** Addresses for `status.loadBalancer`; none by default. */
  loadBalancer?(read: Reader): { readonly ingress?: readonly object[] } | undefined;
}

export interface IngressComponents {
  readonly kinds: readonly OwnedKind[];
  readonly reconcilers: readonly Reconciler[];
  readonly sinks: readonly Sink[];
  /** The xDS server among them: what Envoys accept and refuse is read from it. */
  readonly xds: Sink<Piece, NodeReport>;
  readonly graph: RouteGraph;
}

export function ingressComponents({
  settings,
  gateways,
  loadBalancer,
  ...options
}: IngressPartsOptions): IngressComponents {
  const graph = routeGraph(settings, gateways ? [gateways.provider] : []);
  const xds = xdsSink({ graph, ...options, ...(gateways && { reads: gateways.reads }) });
  /** What Envoys refuse, by what it was computed from: one small value that rarely changes, whatever they acknowledge. */
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
  return {
    kinds: [HTTPProxy, TLSCertificateDelegation, ExtensionService],
    reconcilers: [
      httpProxyStatus({ graph, refusals, ...addresses }),
      ingressEvents({ graph, refusals, ...addresses }),
      extensionServiceStatus({ graph, refusals }),
      delegationStatus(),
      ...(gateways?.reconcilers ?? []),
    ],
    sinks: [xds],
    xds,
    graph,
  };
}
