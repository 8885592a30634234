import { Deployment, MutatingWebhookConfiguration } from '@capstan/kube';
import { conditionType, plan, type Reconciler, reading, reconciler } from '@capstan/reconcile';
import { KroxyliciousSidecarConfig } from '../kinds/index.ts';
import type { Settings } from '../settings.ts';
import { sidecarProblems } from '../sidecar/validate.ts';
import { CONFIGURATION_NAME, WEBHOOK_NAME } from '../sidecar/webhook-objects.ts';
import { availableOf, isThere } from './sidecar-webhook.ts';

const ready = conditionType<'Accepted' | 'Invalid' | 'WebhookNotRunning'>('Ready');

/** Reports whether new pods get the sidecar that a config describes. */
export function createSidecarConfigReconciler({ webhookNamespace }: Settings): Reconciler {
  return reconciler<KroxyliciousSidecarConfig>({
    name: 'kroxylicious-sidecar-config',
    resource: KroxyliciousSidecarConfig,
    reads: [reading(Deployment, 'owned'), reading(MutatingWebhookConfiguration, 'referenced')],
    reconcile({ object, read }) {
      const problems = sidecarProblems(object.spec);
      if (problems.length > 0) return plan({ conditions: [ready.isFalse('Invalid', problems.join('; '))] });
      if (!read.covers(Deployment, webhookNamespace)) {
        const message = `pods get no sidecar: the operator does not watch the namespace ${webhookNamespace} of the webhook; add it to --watch-namespaces, or run the webhook apart and set --sidecar-webhook=false`;
        return plan({ conditions: [ready.isFalse('WebhookNotRunning', message)] });
      }
      const isCalled = read.get(MutatingWebhookConfiguration, { name: CONFIGURATION_NAME }, isThere) !== undefined;
      const available = read.get(Deployment, { namespace: webhookNamespace, name: WEBHOOK_NAME }, availableOf) ?? 0;
      if (isCalled && available > 0) return plan({ conditions: [ready.isTrue('Accepted', '')] });
      const message = `pods get no sidecar yet: no pod of Deployment ${webhookNamespace}/${WEBHOOK_NAME} is ready; check its pods and their events`;
      return plan({ conditions: [ready.isFalse('WebhookNotRunning', message)] });
    },
  });
}
