// Finds the operators' own objects: only their programs have written them. Such objects are no reason to refuse an uninstallation.
// They are removed when the operators are stopped, because a running operator creates them again. An object with a field of
// another writer belongs to a user.
import {
  type Client,
  type DiscoveredKind,
  isNotFound,
  type Kind,
  type KubeObject,
  kindId,
  Namespace,
  type ObjectRef,
} from '@capstan/kube';
import { FIELD_MANAGER_PREFIX, fieldManager, type Operator } from '@capstan/reconcile';

export interface Found {
  readonly kind: Kind;
  readonly object: KubeObject;
}

/** The control plane's controllers annotate objects of other owners. */
const NEUTRAL = new Set(['kube-controller-manager']);

/** Returns true when only programs of these operators wrote the object, apart from its status. An object without fields is theirs too. */
export function isOwnObject({ metadata }: KubeObject, operators: readonly Operator[]): boolean {
  return writersOf(metadata).every((manager) => isOwnManager(manager, operators));
}

/** Objects of the operators' kinds; of one namespace alone where one is given. */
export async function objectsOf(
  client: Client,
  operators: readonly Operator[],
  signal: AbortSignal,
  within?: string,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const kind of operators.flatMap(({ kinds }) => kinds))
    if (within === undefined || kind.scope === 'Namespaced') found.push(...(await allOf(client, kind, signal, within)));
  return found;
}

/** Returns the objects that the operators made for themselves. They have no owner, so the garbage collector does not remove them. */
export async function ownObjects(
  client: Client,
  operators: readonly Operator[],
  signal: AbortSignal,
  within?: string,
): Promise<Found[]> {
  const ofKinds = await objectsOf(client, operators, signal, within);
  const found = ofKinds.filter(({ object }) => isOwnObject(object, operators));
  for (const { kind, manager } of createdKinds(operators)) {
    if (within !== undefined && kind.scope !== 'Namespaced') continue;
    for (const one of await allOf(client, kind, signal, within)) {
      const { metadata } = one.object;
      const isOwned = (metadata.ownerReferences ?? []).length > 0;
      if (writersOf(metadata).includes(manager) && !isOwned && isOwnObject(one.object, operators)) found.push(one);
    }
  }
  // Namespaces last: the other objects are in them.
  return found.toSorted((a, b) => Number(isNamespace(a)) - Number(isNamespace(b)));
}

export const isNamespace = ({ kind }: Found) => kindId(kind) === kindId(Namespace);

/** Returns the objects that would be lost with a namespace, without those that Kubernetes creates in each and those being deleted. */
export async function contentOf(
  client: Client,
  kinds: readonly DiscoveredKind[],
  namespace: string,
  signal: AbortSignal,
): Promise<string[]> {
  const content = new Set<string>();
  for (const kind of kinds.filter(
    ({ scope, kind, verbs }) => scope === 'Namespaced' && verbs.includes('list') && !PASSING.has(kind),
  ))
    for (const { object } of await allOf(client, kind, signal, namespace)) {
      const { name = '', deletionTimestamp, ownerReferences = [] } = object.metadata;
      if (deletionTimestamp === undefined && ownerReferences.length === 0 && !GIVEN.has(`${kind.kind} ${name}`))
        content.add(`${kind.kind} ${name}`);
    }
  return [...content];
}

/** They tell of other objects, and go with time. */
const PASSING = new Set(['Event', 'Endpoints', 'EndpointSlice', 'PodMetrics']);
const GIVEN = new Set(['ServiceAccount default', 'ConfigMap kube-root-ca.crt']);

function writersOf({ managedFields = [] }: KubeObject['metadata']): string[] {
  return managedFields
    .filter(({ subresource = '' }) => subresource === '')
    .map(({ manager = '' }) => manager)
    .filter((manager) => !NEUTRAL.has(manager));
}

function isOwnManager(manager: string, operators: readonly Operator[]): boolean {
  return operators.some(({ name, alsoWritesAs = [] }) =>
    [name, ...alsoWritesAs].some(
      (writer) => manager.startsWith(`${FIELD_MANAGER_PREFIX}${writer}.`) || (writer !== name && manager === writer),
    ),
  );
}

/**
 * For each reconciler, the kinds of others of which it writes objects. An object at the cluster scope has no owner where its resource has a
 * namespace: it is left when its operator is not there to remove it.
 */
function createdKinds(operators: readonly Operator[]): { kind: Kind; manager: string }[] {
  const own = new Set(operators.flatMap(({ kinds }) => kinds.map(kindId)));
  return operators.flatMap(({ name, reconcilers }) =>
    reconcilers.flatMap((reconciler) =>
      reconciler.writes
        .filter(({ kind, by }) => !own.has(kindId(kind)) && by.some((mode) => CREATING.has(mode)))
        .map(({ kind }) => ({ kind, manager: fieldManager(name, reconciler.name) })),
    ),
  );
}

const CREATING: ReadonlySet<string> = new Set(['apply', 'createOnly', 'mint']);

async function allOf(client: Client, kind: Kind, signal: AbortSignal, namespace?: string): Promise<Found[]> {
  const found: Found[] = [];
  try {
    const options = { signal, ...(namespace !== undefined && { namespace }) };
    for await (const { items } of client.pages(kind, options)) found.push(...items.map((object) => ({ kind, object })));
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return found;
}

export function shownRef({ kind, object: { metadata } }: Found): string {
  const { namespace, name = '' }: Partial<ObjectRef> = metadata;
  return `${kindId(kind)} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
