import type { Operator } from '../operator.ts';

export interface Privilege {
  place: 'everywhere' | 'cluster' | 'own';
  group: string;
  resource: string;
  verbs: readonly string[];
  names?: string[];
}

/** The Secret with the operator's key for digests of secret data. */
export function digestKeyName(operator: string): string {
  return `capstan-${operator}-digest-key`;
}

export function leaseName(operator: string): string {
  return `capstan-${operator}`;
}

/** What the runtime itself needs for any operator: its lease, its events, its digest key. */
export function runtimePrivileges(operator: Operator): readonly Privilege[] {
  const readsSecrets = operator.reconcilers.some(({ reads }) => reads.some(({ kind }) => kind.sensitive));
  const lease = { place: 'own', group: 'coordination.k8s.io', resource: 'leases' } as const;
  const secret = { place: 'own', group: '', resource: 'secrets' } as const;
  return [
    { place: 'everywhere', group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] },
    // Creating cannot be restricted by name: the name is not known to the authorizer yet.
    { ...lease, verbs: ['create'] },
    { ...lease, verbs: ['get', 'update', 'patch'], names: [leaseName(operator.name)] },
    ...(readsSecrets
      ? [
          { ...secret, verbs: ['create'] },
          { ...secret, verbs: ['get'], names: [digestKeyName(operator.name)] },
        ]
      : []),
  ];
}
