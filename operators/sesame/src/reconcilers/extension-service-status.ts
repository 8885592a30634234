// The status of an ExtensionService: whether Envoy can be configured to call it, and why not.
import { type Derived, plan, type Reconciler, reconciler } from '@capstan/reconcile';
import { isContours } from '../kinds/contour.ts';
import { ExtensionService } from '../kinds/extension-service.ts';
import type { RouteGraph } from '../routes/pieces.ts';
import type { TranslatedExtension } from '../routing/extension/translate-extension.ts';
import { ROUTE_READS } from '../routing/lookup.ts';
import { type ContourStatuses, isLeftToContour } from './contour-statuses.ts';
import type { Refusals } from './http-proxy-status.ts';
import { validCondition } from './valid-condition.ts';

export interface ExtensionStatusOptions {
  readonly graph: RouteGraph;
  /** Read with the empty key; none by default. */
  readonly refusals?: Derived<Refusals>;
  readonly contour?: ContourStatuses | undefined;
  readonly kind?: typeof ExtensionService;
}

export function extensionServiceStatus({
  graph,
  refusals,
  contour,
  kind = ExtensionService,
}: ExtensionStatusOptions): Reconciler {
  return reconciler({
    name: 'extension-service-status',
    resource: kind,
    reads: [...ROUTE_READS, ...(contour?.reads ?? [])],
    concurrency: 16,
    reconcile({ object, read }) {
      const { metadata } = object;
      if (isContours(object) && isLeftToContour(read, contour)) return plan({});
      const key = `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
      const { errors, warnings } = read.derived(graph.extensions, key, findingsOf);
      const refused = (refusals && read.derived(refusals, '')[`ExtensionService ${key}`]) ?? [];
      const more = refused.map((message) => ({ type: 'SpecError', reason: 'RefusedByEnvoy', message }) as const);
      return plan({
        conditions: [validCondition('ExtensionService', { errors, warnings: [...warnings, ...more] })],
      });
    },
  });
}

function findingsOf({ findings }: TranslatedExtension): TranslatedExtension['findings'] {
  return findings;
}
