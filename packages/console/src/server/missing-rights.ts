// The Role to request for a kind that the user may not read, as YAML.
import { type Kind, kindId } from '@capstan/kube';
import type { Runtime } from '@capstan/reconcile';

/** The ClusterRole with which a user may read a kind. */
export function roleToRead(kind: Pick<Kind, 'group' | 'plural'>): string {
  return roleOf([kind]);
}

/** The ClusterRole for the kinds among these names of tables that may not be read; undefined where a right is not the reason. */
export function rolesToRead(runtime: Runtime, waitingFor: readonly string[]): string | undefined {
  const found = new Map<string, Kind>();
  for (const world of runtime.worlds.values())
    for (const kind of world.kinds) {
      const id = kindId(kind);
      if (world.access.peek(id) !== 'forbidden') continue;
      if (waitingFor.some((name) => name.startsWith(`${id}/`) || name.startsWith(`${id}[`))) found.set(id, kind);
    }
  return found.size === 0 ? undefined : roleOf([...found.values()]);
}

function roleOf(kinds: readonly Pick<Kind, 'group' | 'plural'>[]): string {
  const byGroup = Map.groupBy(kinds, ({ group }) => group);
  return [
    'apiVersion: rbac.authorization.k8s.io/v1',
    'kind: ClusterRole',
    'metadata:',
    '  name: capstan-console-reader',
    'rules:',
    ...[...byGroup].flatMap(([group, members]) => [
      `  - apiGroups: ["${group}"]`,
      `    resources: [${members.map(({ plural }) => plural).join(', ')}]`,
      '    verbs: [get, list, watch]',
    ]),
    '',
  ].join('\n');
}
