import type { Operator } from '../operator.ts';
import type { Reconciler } from '../reconciler.ts';

export interface Privilege {
  place: 'everywhere' | 'cluster' | 'own' | 'system' | 'default';
  group: string;
  resource: string;
  verbs: readonly string[];
  names?: string[];
}

/** Where Leases and digest keys are unless the program is given another namespace, wherever it runs itself. */
export const SYSTEM_NAMESPACE = 'capstan-system';

/** The Secret with the operator's key for digests of secret data. */
export function digestKeyName(operator: string): string {
  return `capstan-${operator}-digest-key`;
}

export function leaseName(operator: string): string {
  return `capstan-${operator}`;
}

/** What the runtime itself needs for any operator: its lease, its events, its digest key. */
export function runtimePrivileges({ name, reconcilers }: Operator): readonly Privilege[] {
  const lease = { place: 'system', group: 'coordination.k8s.io', resource: 'leases' } as const;
  const secret = { place: 'system', group: '', resource: 'secrets' } as const;
  const events = { group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] } as const;
  const isClusterWide = reconcilers.some(({ resource }) => resource.scope === 'Cluster');
  return [
    { place: 'everywhere', ...events },
    ...(isClusterWide ? [{ place: 'default', ...events } as const] : []),
    // Creating cannot be restricted by name: the name is not known to the authorizer yet.
    { ...lease, verbs: ['create'] },
    { ...lease, verbs: ['get', 'update', 'patch'], names: [leaseName(name)] },
    ...(reconcilers.some(readsSecrets)
      ? [
          { ...secret, verbs: ['create'] },
          { ...secret, verbs: ['get'], names: [digestKeyName(name)] },
        ]
      : []),
  ];
}

/** Whether it may see what digests must key: what it writes it may read as well. */
function readsSecrets({ resource, reads, writes }: Reconciler): boolean {
  return [resource, ...reads.map(({ kind }) => kind), ...writes.map(({ kind }) => kind)].some(
    ({ sensitive }) => sensitive,
  );
}
