// The privileges that each declaration needs: verbs from the actions of a plan, places from the reach, and the reasons why a rule is wider
// than its declaration, where RBAC cannot express the difference.
import type { Kind } from '@capstan/kube/cluster';
import type { Operator } from '../operator.ts';
import {
  type GrantedRule,
  makesChildren,
  type ReadDeclaration,
  type Reconciler,
  type Role,
  roleOf,
  type WriteDeclaration,
  type WriteMode,
} from '../reconciler.ts';
import { writtenKinds } from '../worlds/views.ts';

export interface Privilege {
  place: 'everywhere' | 'cluster' | 'own' | 'system' | 'default';
  /** The only namespaces in which it is needed; undefined: as `place` states. */
  namespaces?: readonly string[];
  group: string;
  resource: string;
  verbs: readonly string[];
  names?: string[];
  /** The reconciler or sink that needs it; undefined: the runtime. */
  by?: string;
  /** Why RBAC grants more with it than is needed. */
  because?: readonly Excess[];
}

/** A reason why a rule is wider than its declaration. */
export interface Excess {
  readonly reason: ExcessReason;
  /** The verbs that permit more; all of the privilege by default. */
  readonly verbs?: readonly string[];
  /** The object that the reason is about. */
  readonly detail?: string;
}

export type ExcessReason =
  | 'MetadataOnly'
  | 'FieldsOnly'
  | 'SelectedByLabel'
  | 'ReferencedNames'
  | 'OwnObjectsOnly'
  | 'PatchedFields'
  | 'CreatedNames'
  | 'AnyNamespace'
  | 'GrantedToOthers'
  | 'Bounded';

export function privilegesOf({ reconcilers, sinks = [] }: Operator, role: Role): readonly Privilege[] {
  return [
    ...reconcilers.flatMap((reconciler) => ofReconciler(reconciler, role)),
    ...sinks.flatMap((sink) =>
      sink.reads
        .filter((read) => isIn(read, sink, role))
        .flatMap(ofRead)
        .map(by(sink.name)),
    ),
  ].map(anywhere);
}

function ofReconciler(reconciler: Reconciler, role: Role): readonly Privilege[] {
  return [
    ...(roleOf(reconciler) === role
      ? writtenKinds(reconciler.resource).flatMap((kind) => ofResource(kind, reconciler))
      : []),
    ...reconciler.reads.filter((read) => isIn(read, reconciler, role)).flatMap(ofRead),
    ...reconciler.writes.filter((write) => isIn(write, reconciler, role)).flatMap(ofWrite),
  ].map(by(reconciler.name));
}

function by(name: string): (privilege: Privilege) => Privilege {
  return (privilege) => ({ ...privilege, by: name });
}

/** A privilege for all namespaces is more than any cluster uses: RBAC cannot follow the objects of an operator. */
function anywhere(privilege: Privilege): Privilege {
  if (privilege.place !== 'everywhere' || privilege.namespaces !== undefined) return privilege;
  return { ...privilege, because: [...(privilege.because ?? []), { reason: 'AnyNamespace' }] };
}

function isIn(declaration: { readonly in?: Role }, part: { readonly in?: Role }, role: Role): boolean {
  return (declaration.in ?? roleOf(part)) === role;
}

/** The privileges for a reconciled kind, under each name that it is written with. */
function ofResource(kind: Kind, { writes, release, finalizer, writesStatus = true }: Reconciler): readonly Privilege[] {
  const hasStatus = kind.hasStatus === true && writesStatus;
  // Our finalizer is a metadata patch; owner references that block deletion need the finalizers subresource.
  const holds = finalizer !== false && (writes.length > 0 || release !== undefined);
  const patched = holds ? [{ reason: 'PatchedFields', verbs: ['patch'] } as const] : [];
  return [
    // After a conflict the object is asked for.
    {
      ...placed(kind),
      verbs: [...(hasStatus || holds ? ['get'] : []), ...WATCH, ...(holds ? ['patch'] : [])],
      because: patched,
    },
    ...(hasStatus ? [{ ...placed(kind, '/status'), verbs: ['patch'] }] : []),
    ...(writes.some(makesChildren) ? [{ ...placed(kind, '/finalizers'), verbs: ['update'] }] : []),
  ];
}

const isMetadata = (path: string) => path === 'metadata' || path.startsWith('metadata.');

function ofRead({ kind, reach, fields, labels, namespaces, names }: ReadDeclaration): readonly Privilege[] {
  // Single objects and our own are looked up under the kind's own name alone.
  const kinds = reach === 'referenced' || reach === 'owned' ? [kind] : writtenKinds(kind);
  const because: Excess[] = [];
  if (reach === 'referenced') {
    because.push({ reason: 'MetadataOnly', verbs: WATCH });
    if (names === undefined) because.push({ reason: 'ReferencedNames', verbs: ['get'] });
  } else if (fields !== undefined) because.push({ reason: fields.every(isMetadata) ? 'MetadataOnly' : 'FieldsOnly' });
  if (reach === 'owned' || labels !== undefined) because.push({ reason: 'SelectedByLabel' });
  return kinds.map((written) => {
    const isOwn = reach === 'inNamespace' && written.scope === 'Namespaced';
    const verbs = reach === 'referenced' ? ['get', ...WATCH] : WATCH;
    const place = { ...placed(written, '', namespaces), ...(isOwn ? { place: 'own' as const } : {}) };
    return { ...place, ...(names && { names: [...new Set(names)].toSorted() }), verbs, because };
  });
}

/** The verbs by which the runtime carries out each way to write. An apply that creates is authorized as a patch and as a creation. */
const MODE_VERBS: Readonly<Record<WriteMode, readonly string[]>> = {
  apply: ['create', 'patch'],
  createOnly: ['create'],
  // A minted child is replaced as a whole when it is renewed.
  mint: ['create', 'update'],
  share: ['create', 'patch'],
  patch: ['patch'],
  remove: ['delete'],
};

function ofWrite(write: WriteDeclaration): readonly Privilege[] {
  const { kind, by: modes, prunes = true, namespaces, bound, grants = {} } = write;
  const isPruned = makesChildren(write) && prunes;
  const own = ['apply', 'createOnly', 'mint', 'share'] as const;
  const because: Excess[] = [
    ...(own.some((mode) => modes.includes(mode)) ? [{ reason: 'CreatedNames', verbs: ['create'] } as const] : []),
    ...(modes.includes('patch') || modes.includes('share')
      ? [{ reason: 'PatchedFields', verbs: ['patch'] } as const]
      : []),
    ...(makesChildren(write) || modes.includes('remove')
      ? [
          {
            reason: 'OwnObjectsOnly',
            verbs: ['update', 'delete', ...(modes.includes('apply') ? ['patch'] : [])],
          } as const,
        ]
      : []),
    ...(bound ? [{ reason: 'Bounded', verbs: ['create', 'patch'], detail: bound.role } as const] : []),
  ];
  const verbs = ['get', ...WATCH, ...modes.flatMap((mode) => MODE_VERBS[mode]), ...(isPruned ? ['delete'] : [])];
  return [
    { ...placed(kind, '', namespaces), verbs, because },
    ...ofGrants(grants.namespaced, { place: 'everywhere', ...(namespaces && { namespaces }) }),
    ...ofGrants(grants.cluster, { place: 'cluster' }),
  ];
}

function ofGrants(rules: readonly GrantedRule[] = [], place: Pick<Privilege, 'place' | 'namespaces'>): Privilege[] {
  return rules.flatMap(({ apiGroups = [], resources = [], verbs, resourceNames }) =>
    apiGroups.flatMap((group) =>
      resources.map((resource): Privilege => {
        const names = resourceNames === undefined ? {} : { names: [...resourceNames] };
        return { ...place, group, resource, verbs, ...names, because: [{ reason: 'GrantedToOthers' }] };
      }),
    ),
  );
}

function placed(
  { scope, group, plural }: Kind,
  subresource = '',
  namespaces?: readonly string[],
): Omit<Privilege, 'verbs'> {
  const resource = `${plural}${subresource}`;
  if (scope === 'Cluster') return { place: 'cluster', group, resource };
  return { place: 'everywhere', group, resource, ...(namespaces && { namespaces }) };
}

const WATCH = ['list', 'watch'];
