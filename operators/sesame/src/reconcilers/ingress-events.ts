// The problem of an Ingress is an Event on it, and its status has the addresses of Envoy for clients.
import { Ingress } from '@capstan/kube';
import { type Derived, plan, type Reader, type Reconciler, reconciler } from '@capstan/reconcile';
import type { RouteGraph } from '../routes/pieces.ts';
import type { TranslatedIngress } from '../routing/ingress/translate-ingress.ts';
import { isServed, ROUTE_READS } from '../routing/lookup.ts';
import { type ContourStatuses, isLeftToContour } from './contour-statuses.ts';
import type { Refusals } from './http-proxy-status.ts';

export interface IngressOptions {
  readonly graph: RouteGraph;
  /** Read with the empty key; none by default. */
  readonly refusals?: Derived<Refusals>;
  /** As `status.loadBalancer` has them; none by default. */
  loadBalancer?(read: Reader): { readonly ingress?: readonly object[] } | undefined;
  readonly contour?: ContourStatuses | undefined;
}

export function ingressEvents({ graph, refusals, loadBalancer, contour }: IngressOptions): Reconciler {
  return reconciler({
    name: 'ingress-events',
    resource: Ingress,
    reads: [...ROUTE_READS.filter((read) => !('kind' in read) || read.kind !== Ingress), ...(contour?.reads ?? [])],
    concurrency: 16,
    reconcile({ object: ingress, read }) {
      const { ingress: classes } = read.derived(graph.settings, '');
      if (!isServed({ metadata: { annotations: ingress.metadata.annotations }, spec: ingress.spec }, classes))
        return plan({});
      const key = `${ingress.metadata.namespace ?? ''}/${ingress.metadata.name ?? ''}`;
      const problems = [...read.derived(graph.ingresses, key, problemsOf), ...read.derived(graph.shadowedPaths, key)];
      const refused = refusals ? (read.derived(refusals, '')[`Ingress ${key}`] ?? []) : [];
      // Its Events concern us alone; its status has one writer.
      const addresses = isLeftToContour(read, contour) ? undefined : loadBalancer?.(read);
      return plan({
        alerts: [
          ...problems.map((note) => ({ type: 'Warning', reason: 'IngressNotValid', note }) as const),
          ...refused.map((note) => ({ type: 'Warning', reason: 'RefusedByEnvoy', note }) as const),
        ],
        ...(addresses && { status: { loadBalancer: addresses } }),
      });
    },
  });
}

function problemsOf({ problems }: TranslatedIngress): readonly string[] {
  return problems;
}
