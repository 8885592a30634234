// What Crossplane needs before the first package comes: its namespace, the Lock, the default runtime configuration and the
// certificate authority. Made when absent, beside the CustomResourceDefinition of the Lock, whose presence says that
// Crossplane is installed here; never overwritten.
import { CustomResourceDefinition, Namespace, Secret } from '@capstan/kube';
import { type Child, createOnly, mint, plan, type Reconciler, reading, reconciler } from '@capstan/reconcile';
import { trimPayload } from '../establish/payload-kinds.ts';
import { DeploymentRuntimeConfig, LOCK_NAME, Lock } from '../kinds/index.ts';
import { defaultRuntimeConfig, ROOT_CA_SECRET } from '../runtime/index.ts';
import type { Settings } from '../settings.ts';
import type { Certificates } from '../workload/certificates.ts';

const LOCK_CRD = `${Lock.plural}.${Lock.group}`;

export function createEssentialsReconciler(settings: Settings, certificates: Certificates): Reconciler {
  const needsDeployments = Object.values(settings.packageRuntime).includes('Deployment');
  return reconciler<CustomResourceDefinition>({
    name: 'essentials',
    resource: CustomResourceDefinition,
    reads: [reading(CustomResourceDefinition, 'everywhere', { trim: trimPayload }), Lock, Namespace],
    writes: [Namespace, Lock, DeploymentRuntimeConfig, Secret],
    reconcile({ object }) {
      if (object.metadata.name !== LOCK_CRD) return plan({ prune: false });
      return plan({
        prune: false,
        held: false,
        groups: [
          { name: 'lock', children: [...essentials(settings.namespace)] },
          ...(needsDeployments ? [{ name: 'runtimes', children: runtimeEssentials() }] : []),
        ],
      });
    },
  });

  function* essentials(namespace: string): Generator<Child> {
    yield createOnly(Namespace, { metadata: { name: namespace } }, { owned: false });
    yield createOnly(Lock, { metadata: { name: LOCK_NAME } }, { owned: false });
  }

  function runtimeEssentials(): Child[] {
    const { namespace } = settings;
    const { metadata, spec } = defaultRuntimeConfig(settings.runtimeConfig.stage);
    const authority = { namespace, name: ROOT_CA_SECRET };
    return [
      createOnly(DeploymentRuntimeConfig, { metadata, spec }, { owned: false }),
      mint(Secret, authority, certificates.minters.rootCa, {}),
    ];
  }
}
