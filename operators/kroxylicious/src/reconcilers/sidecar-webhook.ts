// Installs the webhook that injects sidecars while there is a KroxyliciousSidecarConfig, and removes it with the last one. The webhook is
// registered only once it runs. Until then pods start without a sidecar.
import {
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  Deployment,
  MutatingWebhookConfiguration,
  Namespace,
  PodDisruptionBudget,
  Secret,
  Service,
  ServiceAccount,
} from '@capstan/kube';
import {
  apply,
  type Child,
  createOnly,
  mint,
  plan,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { KroxyliciousSidecarConfig } from '../kinds/index.ts';
import type { Settings } from '../settings.ts';
import { caBundleOf, fingerprintsIn, webhookCertificate } from '../sidecar/certificates.ts';
import {
  CONFIGURATION_NAME,
  WEBHOOK_NAME,
  WEBHOOK_RULES,
  WEBHOOK_SECRET,
  webhookAccount,
  webhookBudget,
  webhookConfiguration,
  webhookDeployment,
  webhookDnsNames,
  webhookNamespace,
  webhookRole,
  webhookRoleBinding,
  webhookService,
} from '../sidecar/webhook-objects.ts';

/** There is one webhook for all configs, so the reconciler runs for one object: their CustomResourceDefinition. */
const DEFINITION = `${KroxyliciousSidecarConfig.plural}.${KroxyliciousSidecarConfig.group}`;

export function createSidecarWebhookReconciler(settings: Settings): Reconciler {
  const namespace = settings.webhookNamespace;
  const secretRef = { namespace, name: WEBHOOK_SECRET };
  return reconciler<CustomResourceDefinition>({
    name: 'sidecar-webhook',
    resource: CustomResourceDefinition,
    // It only reads the CustomResourceDefinition.
    writesStatus: false,
    finalizer: false,
    reads: [
      reading(CustomResourceDefinition, 'everywhere', { fields: ['metadata'] }),
      KroxyliciousSidecarConfig,
      Secret,
      reading(Deployment, 'owned'),
      reading(MutatingWebhookConfiguration, 'referenced'),
    ],
    writes: [
      writing(Namespace, 'createOnly', { prunes: false }),
      writing(Secret, 'mint'),
      ServiceAccount,
      Service,
      // An installation of the original has a Deployment of this name.
      writing(Deployment, 'apply', { podAccounts: `^${WEBHOOK_NAME}$`, adopts: [WEBHOOK_NAME] }),
      PodDisruptionBudget,
      writing(ClusterRole, 'apply', { grants: { namespaced: WEBHOOK_RULES } }),
      ClusterRoleBinding,
      MutatingWebhookConfiguration,
    ],
    reconcile({ object, read }) {
      if (object.metadata.name !== DEFINITION) return plan({ held: false });
      // An operator that does not watch the webhook's namespace installs nothing.
      if (!read.covers(Deployment, namespace)) return plan({ held: false, prune: false });
      if (read.list(KroxyliciousSidecarConfig, {}, isThere).length === 0) return plan({ held: false });
      const present = read.get(MutatingWebhookConfiguration, { name: CONFIGURATION_NAME }, bundlesOf);
      const caBundle = read.get(Secret, secretRef, caBundleOf);
      const isRunning = (read.get(Deployment, { namespace, name: WEBHOOK_NAME }, availableOf) ?? 0) > 0;
      return plan({
        held: false,
        groups: [
          { name: 'namespace', children: [createOnly(Namespace, webhookNamespace(settings), { owned: false })] },
          { name: 'webhook', children: [...parts(present)] },
          {
            name: 'registration',
            open: caBundle !== undefined && (isRunning || present !== undefined),
            waitingFor: 'a pod of the webhook to be ready',
            children:
              caBundle === undefined
                ? []
                : [apply(MutatingWebhookConfiguration, webhookConfiguration(settings, caBundle), { adopts: true })],
          },
        ],
      });
    },
  });

  function* parts(present: readonly string[] | undefined): Generator<Child> {
    const trusted = present?.flatMap(fingerprintsIn).toSorted();
    const dnsNames = webhookDnsNames(settings, settings.clusterDomain);
    yield mint(Secret, secretRef, webhookCertificate, { dnsNames, ...(trusted && { trusted }) });
    // Adopt the objects of an installation by the original program.
    yield apply(ServiceAccount, webhookAccount(settings), { adopts: true });
    yield apply(ClusterRole, webhookRole(), { adopts: true });
    yield apply(ClusterRoleBinding, webhookRoleBinding(settings), { adopts: true });
    yield apply(Service, webhookService(settings), { adopts: true });
    yield apply(PodDisruptionBudget, webhookBudget(settings), { adopts: true });
    yield apply(Deployment, webhookDeployment(settings), { adopts: true });
  }
}

export const isThere = () => true;

export const availableOf = ({ status }: Deployment) => status?.availableReplicas ?? 0;

const bundlesOf = ({ webhooks = [] }: MutatingWebhookConfiguration) =>
  webhooks.map(({ clientConfig }) => clientConfig.caBundle ?? '');
