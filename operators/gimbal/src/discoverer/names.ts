import { childName } from '@capstan/kube';
import { labelValue } from '../discover/names/discovered-name.ts';
import type { EffectiveBackend } from '../kinds/index.ts';

type Named = Pick<EffectiveBackend, 'backendName' | 'type'>;

/** Returns the name of its Deployment, account and role: `east-kubernetes-discoverer`, as upstream has it. */
export function discovererName({ backendName, type }: Named): string {
  return childName(backendName, `${type}-discoverer`);
}

/** Matches the names above, also those that are too long and end in a hash. */
export const DISCOVERER_ACCOUNTS = '-(discoverer|[bcdfghjklmnpqrstvwxz2456789]{10})$';

/** On everything that belongs to it; upstream's. */
export function discovererLabels({ backendName, type }: Named): Record<string, string> {
  return { app: `${type}-discoverer`, cluster: labelValue(backendName) };
}

/** Returns the name of its lease, and of its grants in all namespaces. */
export function clusterName({ backendName }: Pick<Named, 'backendName'>): string {
  return `gimbal-discoverer-${backendName}`;
}
