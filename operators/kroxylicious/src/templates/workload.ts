// Everything that runs one workload of a proxy: its configuration, its Deployment, its disruption budget.
import { ConfigMap, Deployment, PodDisruptionBudget, type ReplicaSet } from '@capstan/kube';
import { apply, aside, type Child, createOnly, type GroupInput, keep } from '@capstan/reconcile';
import { FROM_UPSTREAM, workloadLabels, workloadName } from '../kinds/labels.ts';
import { CONFIG_KEY, configMapName, type DeploymentParts, proxyDeployment } from './deployment.ts';

export interface WorkloadParts extends DeploymentParts {
  /** Names of ConfigMaps that ReplicaSets of the Deployment mount. */
  readonly usedConfigMaps: readonly string[];
  readonly quietMs: number;
  /** False holds the rollout back; true by default. */
  readonly open?: boolean;
  /** What a rollout that is held back waits for. */
  readonly waitingFor?: string | undefined;
}

/** The groups of a plan that runs the workload: configuration first, then what uses it. */
export function workloadGroups(parts: WorkloadParts): GroupInput[] {
  const { workload, namespace, composed, quietMs, usedConfigMaps, open = true, waitingFor } = parts;
  const labels = workloadLabels(workload);
  const name = configMapName(workload, composed);
  const older = new Set(
    usedConfigMaps.filter((used) => used !== name && used.startsWith(`${workloadName(workload)}-proxy-config-`)),
  );
  // A proxy and what it serves are often made together, one after the other: pods are started once, with all of it; and no
  // configuration is stored that no pod will run.
  const settled = { quietMs, quietAtCreation: true, open, ...(waitingFor === undefined ? {} : { waitingFor }) };
  return [
    {
      name: 'configuration',
      ...settled,
      children: [
        // Created and never changed; collected when no ReplicaSet can come back to it.
        createOnly(ConfigMap, {
          metadata: { namespace, name, labels },
          immutable: true,
          data: { [CONFIG_KEY]: composed.text },
        }),
        ...[...older].map((used): Child => keep(ConfigMap, { namespace, name: used })),
        apply(PodDisruptionBudget, {
          metadata: { namespace, name: workloadName(workload), labels },
          spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
        }),
      ],
    },
    { name: 'rollout', ...settled, children: [apply(Deployment, proxyDeployment(parts), FROM_UPSTREAM)] },
  ];
}

/** Names of the ConfigMaps that a ReplicaSet's pods mount, even one that is scaled to nothing: a rollback may bring it back. */
export const configMapsOf = aside(({ spec }: ReplicaSet): readonly string[] =>
  (spec?.template?.spec?.volumes ?? []).flatMap(({ configMap }) => configMap?.name ?? []),
);

/** Names of the snapshots that they mount. */
export const mountedSnapshotsOf = aside(({ spec }: ReplicaSet | Deployment): readonly string[] =>
  (spec?.template?.spec?.volumes ?? []).flatMap(({ projected }) =>
    (projected?.sources ?? []).flatMap(({ secret }) => secret?.name ?? []),
  ),
);

/** What is read of ReplicaSets. */
export const REPLICA_SET_FIELDS = [
  'spec.template.spec.volumes.configMap.name',
  'spec.template.spec.volumes.projected.sources.secret.name',
];
