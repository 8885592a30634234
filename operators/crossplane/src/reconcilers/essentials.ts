// The objects that Crossplane needs before the first package: its namespace, the Lock, the default configuration of each runtime and the
// certificate authority. They are created when absent, beside the CustomResourceDefinition of the Lock, whose presence shows that
// Crossplane is installed here. They are never overwritten.
import { CustomResourceDefinition, type KubeObject, Namespace, Secret } from '@capstan/kube';
import {
  type Child,
  type ChildObject,
  createOnly,
  mint,
  plan,
  type Reconciler,
  reading,
  reconciler,
  writing,
} from '@capstan/reconcile';
import { PAYLOAD_FIELDS } from '../establish/payload-kinds.ts';
import { LOCK_NAME, Lock } from '../kinds/index.ts';
import { runtimesInUse } from '../packages/package-kind.ts';
import { ROOT_CA_SECRET } from '../runtime/index.ts';
import type { Settings } from '../settings.ts';
import type { Certificates } from '../workload/certificates.ts';

const LOCK_CRD = `${Lock.plural}.${Lock.group}`;

export function createEssentialsReconciler(settings: Settings, certificates: Certificates): Reconciler {
  const runtimes = runtimesInUse(settings);
  return reconciler<CustomResourceDefinition>({
    name: 'essentials',
    resource: CustomResourceDefinition,
    // It reads these objects and writes no status on them.
    writesStatus: false,
    finalizer: false,
    reads: [reading(CustomResourceDefinition, 'everywhere', { fields: PAYLOAD_FIELDS }), Lock, Namespace],
    writes: [
      writing(Namespace, 'createOnly', { prunes: false }),
      writing(Lock, 'createOnly', { prunes: false }),
      ...runtimes.map(({ config }) => writing(config.kind, 'createOnly', { prunes: false })),
      ...(runtimes.length > 0 ? [writing(Secret, 'mint', { prunes: false, namespaces: [settings.namespace] })] : []),
    ],
    reconcile({ object }) {
      if (object.metadata.name !== LOCK_CRD) return plan({ prune: false });
      return plan({
        prune: false,
        held: false,
        groups: [
          { name: 'lock', children: [...essentials(settings.namespace)] },
          ...(runtimes.length > 0 ? [{ name: 'runtimes', children: runtimeEssentials() }] : []),
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
    const authority = { namespace, name: ROOT_CA_SECRET };
    return [
      ...runtimes.map(({ config }) => {
        const { metadata, spec } = config.defaultConfig(settings.runtimeConfig.stage);
        return createOnly(config.kind, { metadata, spec } as ChildObject<KubeObject>, { owned: false });
      }),
      mint(Secret, authority, certificates.minters.rootCa, {}),
    ];
  }
}
