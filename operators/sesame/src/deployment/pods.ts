// The common parts of the pods of Sesame and of Envoy.
import type { Affinity, EnvVar, PodSpec } from '@capstan/kube';

/** Runs as the user nobody. */
export const UNPRIVILEGED = { runAsNonRoot: true, runAsUser: 65_534, runAsGroup: 65_534 };

/** Containers that need nothing of the kernel. */
export const CONFINED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

export function fieldEnv(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } };
}

/** Pods of one set rather not on one node. */
export function spread(matchLabels: Record<string, string>): Affinity {
  return {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 100, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels } } },
      ],
    },
  };
}

interface Placement {
  nodeSelector?: Record<string, string>;
  tolerations?: PodSpec['tolerations'];
}

export function placed(placement: Placement | undefined): Pick<PodSpec, 'nodeSelector' | 'tolerations'> {
  const { nodeSelector, tolerations } = placement ?? {};
  return { ...(nodeSelector && { nodeSelector }), ...(tolerations && { tolerations }) };
}
