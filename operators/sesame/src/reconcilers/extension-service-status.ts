// The status of an ExtensionService: whether Envoy can be configured to call it, and why not.
import { plan, type Reconciler, reconciler } from '@capstan/reconcile';
import { ExtensionService } from '../kinds/extension-service.ts';
import type { TranslatedExtension } from '../routing/extension/translate-extension.ts';
import { ROUTE_READS } from '../routing/tracked-lookup.ts';
import type { RouteGraph } from '../serving/pieces.ts';
import { validCondition } from './valid-condition.ts';

export function extensionServiceStatus({ graph }: { readonly graph: RouteGraph }): Reconciler {
  return reconciler({
    name: 'extension-service-status',
    resource: ExtensionService,
    reads: ROUTE_READS,
    concurrency: 16,
    reconcile({ object: { metadata }, read }) {
      const findings = read.derived(graph.extensions, `${metadata.namespace ?? ''}/${metadata.name ?? ''}`, findingsOf);
      return plan({ conditions: [validCondition('ExtensionService', findings)] });
    },
  });
}

function findingsOf({ findings }: TranslatedExtension): TranslatedExtension['findings'] {
  return findings;
}
