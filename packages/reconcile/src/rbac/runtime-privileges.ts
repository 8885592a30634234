import type { Operator } from '../operator.ts';
import { LOCAL, writesElsewhere } from '../reconciler.ts';
import type { Sink } from '../sinks/sink.ts';
import { digestKeyName, leaseName } from '../system-names.ts';
import { type Declaring, rolesOf } from '../worlds/requirements.ts';
import type { Privilege } from './privileges.ts';

/** The privileges of the runtime itself for any operator in its own cluster: its leases, its events, its digest key. */
export function runtimePrivileges({ name, reconcilers, sinks = [] }: Operator): readonly Privilege[] {
  const lease = { place: 'system', group: 'coordination.k8s.io', resource: 'leases' } as const;
  const secret = { place: 'system', group: '', resource: 'secrets' } as const;
  const events = { group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] } as const;
  const sinkLeases = sinks.flatMap(leasesOf);
  const isClusterWide = reconcilers.some(({ resource }) => resource.scope === 'Cluster');
  return [
    { place: 'everywhere', ...events, because: [{ reason: 'AnyNamespace' }] },
    ...(isClusterWide ? [{ place: 'default', ...events } as const] : []),
    // Creating cannot be restricted by name: the name is not known to the authorizer yet.
    { ...lease, verbs: ['create'], because: UNNAMED },
    { ...lease, verbs: ['get', 'watch', 'update', 'patch'], names: [leaseName(name)] },
    // Those of sinks are in the operator's own namespace.
    ...(sinkLeases.length === 0
      ? []
      : [
          { ...lease, place: 'own', verbs: ['create'], because: UNNAMED } as const,
          { ...lease, place: 'own', verbs: ['get', 'watch', 'update', 'patch'], names: sinkLeases } as const,
        ]),
    // The identity of this cluster, by which its objects' children in other clusters are known.
    ...(reconcilers.some(writesElsewhere)
      ? [
          {
            place: 'cluster',
            group: '',
            resource: 'namespaces',
            verbs: ['get'],
            names: [IDENTITY_NAMESPACE],
          } satisfies Privilege,
        ]
      : []),
    // Kubeconfigs of other clusters.
    ...(rolesOf([...reconcilers, ...sinks]).some((role) => role !== LOCAL)
      ? [{ ...secret, verbs: ['list', 'watch'], because: [{ reason: 'SelectedByLabel' } as const] }]
      : []),
    ...([...reconcilers, ...sinks].some(readsSecrets)
      ? [
          { ...secret, verbs: ['create'], because: UNNAMED },
          { ...secret, verbs: ['get'], names: [digestKeyName(name)] },
        ]
      : []),
  ];
}

const UNNAMED = [{ reason: 'CreatedNames' } as const];

/** Whether it may see values that digests must key: it may read every kind that it writes. */
function readsSecrets({ resource, reads, writes = [] }: Declaring): boolean {
  return [...(resource ? [resource] : []), ...[...reads, ...writes].map(({ kind }) => kind)].some(
    ({ sensitive }) => sensitive,
  );
}

/** Its uid is the identity of a cluster. */
export const IDENTITY_NAMESPACE = 'kube-system';

function leasesOf({ lease }: Sink): string[] {
  return typeof lease === 'object' && lease.namespace === undefined ? [lease.name] : [];
}
