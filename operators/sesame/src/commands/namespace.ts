import { CLUSTER_OPTIONS, type Flags } from '@capstan/reconcile/command-line';
import { DEFAULT_NAMESPACE } from '../kinds/group.ts';

/** Where Sesame runs: the flag, the environment, else the default namespace. */
export function sesameNamespace(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  podNamespace?: string,
): string {
  const candidates = [given, env['SESAME_NAMESPACE'], env['CONTOUR_NAMESPACE'], podNamespace];
  return candidates.find((candidate) => candidate !== undefined && candidate !== '') ?? DEFAULT_NAMESPACE;
}

/** Flags of commands that talk to the cluster of Sesame. */
export const SESAME_CLUSTER_OPTIONS = {
  ...CLUSTER_OPTIONS,
  namespace: {
    ...CLUSTER_OPTIONS.namespace,
    help: 'The namespace of Sesame; default $SESAME_NAMESPACE, else projectsesame.',
  },
  incluster: { type: 'boolean', help: 'Uses the ServiceAccount of the pod, which is the default in one.' },
} as const satisfies Flags;
