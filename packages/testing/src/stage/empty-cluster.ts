// Removes the remains of a test from a server that the next one uses too: everything but the server's own objects.
import {
  type Client,
  CustomResourceDefinition,
  type DiscoveredKind,
  discover,
  isNotFound,
  type KubeObject,
  Namespace,
  sleep,
  systemClock,
} from '@capstan/kube';

const OWN_NAMESPACES: ReadonlySet<string> = new Set(['kube-system', 'kube-public', 'kube-node-lease']);
const DEFAULT = 'default';
const KEPT_KINDS: ReadonlySet<string> = new Set([
  'APIService',
  'CustomResourceDefinition',
  'FlowSchema',
  'Namespace',
  'Node',
  'PriorityClass',
  'PriorityLevelConfiguration',
  'ServiceCIDR',
  'IPAddress',
]);
const GONE_MS = 20_000;
const POLL_MS = 20;

/** Removes every object, namespace and CRD that is not the server's own; CRDs that are `kept` stay, without objects. */
export async function emptyCluster(client: Client, kept: (name: string) => boolean = () => false): Promise<void> {
  const crds = (await client.list(CustomResourceDefinition)).items;
  const custom = new Set(crds.map(({ metadata }) => metadata.name));
  const kinds = await changeableKinds(client);
  await Promise.all(kinds.map((kind) => emptyKind(client, kind, custom.has(`${kind.plural}.${kind.group}`))));
  for (const crd of crds) {
    const ref = { name: crd.metadata.name ?? '' };
    if (kept(ref.name)) continue;
    // The server's own collector may be faster.
    await client.delete(CustomResourceDefinition, ref).catch(orGone);
    await untilGone(async () => (await client.find(CustomResourceDefinition, ref)) === undefined);
  }
  for (const { metadata } of (await client.list(Namespace)).items) {
    const { name = '' } = metadata;
    if (OWN_NAMESPACES.has(name) || name === DEFAULT) continue;
    await client.delete(Namespace, { name }).catch(orGone);
    // No controller but this code finalizes namespaces here, and there is nothing in them any more.
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: { finalizers: [] } };
    await client.request({ method: 'PUT', path: `/api/v1/namespaces/${name}/finalize`, body }).catch(orGone);
  }
}

/** Returns whether the garbage collector has work: an object whose owners are all gone, or that waits for its dependents. */
export async function hasGarbage(client: Client): Promise<boolean> {
  const all = (await Promise.all((await changeableKinds(client)).map((kind) => listed(client, kind)))).flat();
  // Objects that are kept may own others: a CRD has children of the program that is started with it.
  const kept = (await Promise.all([client.list(CustomResourceDefinition), client.list(Namespace)])).flatMap(
    ({ items }): readonly KubeObject[] => items,
  );
  const uids = new Set([...all, ...kept].map(({ metadata }) => metadata.uid));
  return [...all, ...kept].some(
    ({ metadata: { ownerReferences = [], finalizers = [] } }) =>
      finalizers.includes('foregroundDeletion') ||
      (ownerReferences.length > 0 && ownerReferences.every(({ uid }) => !uids.has(uid))),
  );
}

async function changeableKinds(client: Client): Promise<DiscoveredKind[]> {
  const { kinds } = await discover(client);
  const seen = new Set<string>();
  return kinds.filter((kind) => {
    const name = `${kind.plural}.${kind.group}`;
    if (seen.has(name) || KEPT_KINDS.has(kind.kind)) return false;
    seen.add(name);
    return ['list', 'delete', 'patch'].every((verb) => kind.verbs.includes(verb));
  });
}

async function listed(client: Client, kind: DiscoveredKind): Promise<KubeObject[]> {
  try {
    return [...(await client.list(kind)).items];
  } catch (error) {
    // A CRD that has just gone.
    if (isNotFound(error)) return [];
    throw error;
  }
}

async function emptyKind(client: Client, kind: DiscoveredKind, isCustom: boolean): Promise<void> {
  for (const { metadata } of await listed(client, kind)) {
    // Objects of custom kinds belong to a test, also in the server's own namespaces.
    if (!isCustom && isOwn(kind, metadata)) continue;
    const { name = '', namespace, finalizers = [] } = metadata;
    const ref = namespace === undefined ? { name } : { name, namespace };
    if (finalizers.length > 0) {
      await client.patch(kind, ref, 'merge', { metadata: { finalizers: null } }).catch(orGone);
    }
    await client.delete(kind, ref, { gracePeriodSeconds: 0, propagationPolicy: 'Background' }).catch(orGone);
  }
}

function isOwn({ kind }: DiscoveredKind, { name = '', namespace, labels }: KubeObject['metadata']): boolean {
  if (namespace !== undefined) {
    if (OWN_NAMESPACES.has(namespace)) return true;
    return namespace === DEFAULT && name === 'kubernetes' && (kind === 'Service' || kind === 'EndpointSlice');
  }
  return labels?.['kubernetes.io/bootstrapping'] !== undefined || name.startsWith('system:');
}

function orGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

async function untilGone(isGone: () => Promise<boolean>): Promise<void> {
  const end = systemClock.now() + GONE_MS;
  while (!(await isGone()) && systemClock.now() < end) await sleep(systemClock, POLL_MS);
}
