// Installs the objects of the active revision of a package. All of them are written by dry run first, so that a package of which the server
// would refuse one object changes nothing.
import { Secret, Service, ServiceAccount } from '@capstan/kube';
import { apply, keep, plan, type Reconciler, reading, reconciler, writing } from '@capstan/reconcile';
import { type Payloads, payloadKey } from '../establish/payload.ts';
import { isOptionalKind, PAYLOAD_FIELDS, payloadKinds } from '../establish/payload-kinds.ts';
import { ControllerConfig, ImageConfig } from '../kinds/index.ts';
import { PACKAGE_KINDS, type PackageKind, type PackageObject, runtimeFor } from '../packages/package-kind.ts';
import { isPaused } from '../packages/paused.ts';
import type { Settings } from '../settings.ts';

/** Reads of the one that reads contents, runtimes and payloads. */
export function derivedReads(kind: PackageKind, settings: Settings) {
  const runtime = runtimeFor(kind, settings);
  const within = { namespaces: [settings.namespace] };
  return [
    ImageConfig,
    reading(Secret, 'referenced', within),
    reading(ServiceAccount, 'everywhere', within),
    ...PACKAGE_KINDS.map(({ revision }) => revision),
    ...(runtime === undefined
      ? []
      : [
          runtime.config.kind,
          ...(runtime.takesControllerConfigs ? [ControllerConfig] : []),
          reading(runtime.workload.kind, 'everywhere', { fields: runtime.workload.fields, ...within }),
          reading(Service, 'everywhere', { fields: ['spec.selector'], ...within }),
        ]),
    ...payloadKinds(kind).map((one) =>
      reading(one, 'everywhere', { fields: PAYLOAD_FIELDS, optional: isOptionalKind(one) }),
    ),
  ];
}

export function createPayloadReconciler(kind: PackageKind, settings: Settings, payloads: Payloads): Reconciler {
  return reconciler<PackageObject>({
    name: `${kind.name}-payload`,
    resource: kind.package,
    primary: false,
    reads: derivedReads(kind, settings),
    // Objects that a revision no longer brings stay, with their data. The garbage collector removes them with the package.
    writes: payloadKinds(kind).map((one) => writing(one, 'apply', { prunes: false })),
    reconcile({ object, read }) {
      if (isPaused(object)) return plan({ prune: false });
      const payload = read.derived(payloads, payloadKey(kind, object.metadata.name ?? ''));
      // Existing objects stay in force until better ones can replace them.
      if (payload.revision === undefined || payload.problem !== undefined) return plan({ prune: false });
      return plan({
        groups: [
          {
            name: 'objects',
            preflight: true,
            children: payload.objects.map((one) => apply(one.kind, one.object, { controls: false, adopts: true })),
          },
          { name: 'kept', children: payload.kept.map((one) => keep(one.kind, one.ref)) },
        ],
      });
    },
  });
}
