// The objects of one workload of a proxy: its configuration, its Deployment and its disruption budget.
import { ConfigMap, Deployment, PodDisruptionBudget, type ReplicaSet } from '@capstan/kube';
import { apply, aside, type Child, createOnly, type GroupInput, keep, writing } from '@capstan/reconcile';
import { KafkaProxy } from '../kinds/index.ts';
import { FROM_UPSTREAM, INSTANCE_LABEL, MANAGED_BY, workloadLabels, workloadName } from '../kinds/labels.ts';
import { CONFIG_KEY, configMapName, type DeploymentParts, proxyDeployment } from './deployment.ts';

export interface WorkloadParts extends DeploymentParts {
  /** The names of ConfigMaps that ReplicaSets of the Deployment mount. */
  readonly usedConfigMaps: readonly string[];
  readonly quietMs: number;
  /** False holds the rollout. Default: true. */
  readonly open?: boolean;
  /** The reason for which a held rollout waits. */
  readonly waitingFor?: string | undefined;
}

/** Returns the groups of a plan that runs the workload: the configuration first, then its users. */
export function workloadGroups(parts: WorkloadParts): GroupInput[] {
  const { workload, namespace, composed, quietMs, usedConfigMaps, open = true, waitingFor } = parts;
  const labels = workloadLabels(workload);
  const name = configMapName(workload, composed);
  const older = new Set(
    usedConfigMaps.filter((used) => used !== name && used.startsWith(`${workloadName(workload)}-proxy-config-`)),
  );
  // A proxy and its clusters are often created one after the other. Start pods once, with all of them, and store no configuration that no
  // pod will run.
  const settled = { quietMs, quietAtCreation: true, open, ...(waitingFor === undefined ? {} : { waitingFor }) };
  return [
    {
      name: 'configuration',
      ...settled,
      children: [
        // Never change the ConfigMap. Delete it once no ReplicaSet mounts it, since a rollback needs it until then.
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
    {
      name: 'rollout',
      ...settled,
      // Users may add fields that a KafkaProxy does not have (environment, volumes), as with the upstream operator.
      children: [apply(Deployment, proxyDeployment(parts), { ...FROM_UPSTREAM, fields: 'shared' })],
    },
  ];
}

/**
 * Returns the names of the ConfigMaps that a ReplicaSet's pods mount. A ReplicaSet that is scaled to zero counts, since a rollback may use
 * it again.
 */
export const configMapsOf = aside(({ spec }: ReplicaSet): readonly string[] =>
  (spec?.template?.spec?.volumes ?? []).flatMap(({ configMap }) => configMap?.name ?? []),
);

/** Returns the names of the snapshots that its pods mount. */
export const mountedSnapshotsOf = aside(({ spec }: ReplicaSet | Deployment): readonly string[] =>
  (spec?.template?.spec?.volumes ?? []).flatMap(({ projected }) =>
    (projected?.sources ?? []).flatMap(({ secret }) => secret?.name ?? []),
  ),
);

/** Deployments of proxies, whose pods run under the default account or one that their KafkaProxy names. */
export const PROXY_DEPLOYMENTS = writing(Deployment, 'apply', {
  podAccounts: {
    kind: KafkaProxy,
    field: ['spec', 'infrastructure', 'pod', 'serviceAccountName'],
    label: INSTANCE_LABEL,
    mark: MANAGED_BY,
  },
});

/** The fields of ReplicaSets that are read. */
export const REPLICA_SET_FIELDS = [
  'spec.template.spec.volumes.configMap.name',
  'spec.template.spec.volumes.projected.sources.secret.name',
];
