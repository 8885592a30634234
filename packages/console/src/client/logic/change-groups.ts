// Changes grouped by their cause: the writes of one reconciler for one change of one object are one entry.
import type { ChangeAnswer } from '../../api-types.ts';
import { kindName, nameOf } from './routes.ts';

/** A change as the server reports it. */
export type Change = ChangeAnswer;

/** Kinds that controllers of Kubernetes derive from others. */
const DERIVED = new Set([
  'Endpoints',
  'EndpointSlice.discovery.k8s.io',
  'Lease.coordination.k8s.io',
  'Pod',
  'PodDisruptionBudget.policy',
  'ReplicaSet.apps',
]);

/** Whether controllers write the objects of a kind; `AsWritten` is a second view of the same objects. */
export function isDerived(kind: string): boolean {
  return DERIVED.has(kind) || kindName(kind).endsWith('AsWritten');
}

/** Whether a change is bookkeeping: a derived object, or fields of a status that set no condition and have no cause. */
export function isBookkeeping({ kind, verb, paths, cause, conditions }: Change): boolean {
  if (isDerived(kind)) return true;
  if (cause !== undefined || verb !== 'changed' || (conditions?.length ?? 0) > 0) return false;
  return (
    paths.length > 0 && paths.every((path) => path.startsWith('status') || path.startsWith('metadata.managedFields'))
  );
}

export interface ChangeGroup {
  /** The id of its newest change; stable while the group grows at its older end. */
  readonly id: number;
  readonly at: string;
  readonly wave: number;
  readonly changes: readonly Change[];
  readonly title: string;
  readonly isOwnWrite: boolean;
}

/** Changes further apart than this are separate entries. */
const SPAN_MS = 10_000;

/** `changes`: newest first. */
export function groupChanges(changes: readonly Change[]): readonly ChangeGroup[] {
  const groups: { key: string; changes: Change[] }[] = [];
  const open = new Map<string, { key: string; changes: Change[] }>();
  for (const change of changes) {
    const key = keyOf(change);
    const group = open.get(key);
    const newest = group?.changes[0];
    if (group !== undefined && newest !== undefined && Date.parse(newest.at) - Date.parse(change.at) <= SPAN_MS) {
      group.changes.push(change);
      continue;
    }
    const started = { key, changes: [change] };
    groups.push(started);
    open.set(key, started);
  }
  return groups.flatMap(({ changes: members }): ChangeGroup[] => {
    const [newest] = members;
    if (newest === undefined) return [];
    const { sequence, at, wave, cause } = newest;
    return [{ id: sequence, at, wave, changes: members, title: titleOf(members), isOwnWrite: cause !== undefined }];
  });
}

function keyOf({ world, kind, key, verb, cause, wave }: Change): string {
  const source = cause?.changes[0];
  if (cause === undefined) return `${world} ${kind} ${verb} ${wave > 0 ? wave : key}`;
  return `${world} ${kind} ${verb} ${cause.by} ${source?.object ?? ''} ${source?.to ?? ''}`;
}

function titleOf(changes: readonly Change[]): string {
  const [first] = changes;
  if (first === undefined) return '';
  const objects = new Set(changes.map(({ world, key }) => `${world} ${key}`));
  const kind = kindName(first.kind);
  if (objects.size === 1) return `${kind} ${first.key} ${first.verb}`;
  const namespaces = new Set(changes.map(({ key }) => key.slice(0, Math.max(0, key.lastIndexOf('/')))));
  const [namespace = ''] = namespaces;
  const where = namespaces.size === 1 && namespace !== '' ? ` in ${namespace}` : '';
  return `${objects.size} ${pluralOf(kind)}${where} ${first.verb}`;
}

export function pluralOf(kind: string): string {
  if (/[^aeiou]y$/.test(kind)) return `${kind.slice(0, -1)}ies`;
  return /(?:s|x|ch|sh)$/.test(kind) ? `${kind}es` : `${kind}s`;
}

/** The names of the changed objects, at most `most`. */
export function namesOf(changes: readonly Change[], most: number): string {
  const names = [...new Set(changes.map(({ key }) => nameOf(key)))];
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ');
}
