// Objects of the operators and of the kinds that they create, and how they are connected: by owners and by references.
import {
  type Client,
  type DaemonSet,
  type Discovery,
  isForbidden,
  isNotFound,
  type Kind,
  type KubeObject,
  kindId,
  type Pod,
  podProblem,
  rolloutProgress,
} from '@capstan/kube';
import { OWNER_ANNOTATION } from '@capstan/reconcile/status';
import { type Health, healthOf, pending } from '../status/health-of.ts';
import type { StatusOperator } from '../status/status-operators.ts';
import { fit, referencesOf } from './references.ts';

export interface Node {
  /** `Kind.group` */
  readonly kind: string;
  /** `namespace/name`, or `name`. */
  readonly object: string;
  /** `Missing` for an object that another one names and that is not there; `Present` where a kind has no health. */
  readonly state: Health['state'] | 'Missing' | 'Present';
  readonly message: string;
}

export interface ObjectGraph {
  find(kind: string, object: string): Node | undefined;
  /** The objects that it names. */
  dependsOn(node: Node): readonly Node[];
  /** The objects that name it. */
  neededBy(node: Node): readonly Node[];
  owns(node: Node): readonly Node[];
  belongsTo(node: Node): readonly Node[];
  /** Kinds that could not be read. */
  readonly unread: readonly string[];
}

/** Kinds that operators create; those with `true` are read whole, of the others only the metadata. */
const CREATED: Readonly<Record<string, boolean>> = {
  'Deployment.apps': true,
  'DaemonSet.apps': true,
  'StatefulSet.apps': true,
  'ReplicaSet.apps': false,
  Pod: true,
  Service: false,
  Secret: false,
  ConfigMap: false,
  ServiceAccount: false,
  'EndpointSlice.discovery.k8s.io': false,
  'Role.rbac.authorization.k8s.io': false,
  'RoleBinding.rbac.authorization.k8s.io': false,
  'ClusterRole.rbac.authorization.k8s.io': false,
  'ClusterRoleBinding.rbac.authorization.k8s.io': false,
  'PodDisruptionBudget.policy': false,
  'HorizontalPodAutoscaler.autoscaling': false,
  'CustomResourceDefinition.apiextensions.k8s.io': false,
};

export interface GraphOptions {
  client: Client;
  discovery: Discovery;
  operators: readonly StatusOperator[];
  /** The reason why no operator serves an object; undefined: one does, or it is not known. */
  unserved(object: KubeObject): string | undefined;
  signal: AbortSignal;
}

interface Entry {
  readonly node: Node;
  readonly object: KubeObject;
}

export async function readGraph({
  client,
  discovery,
  operators,
  unserved,
  signal,
}: GraphOptions): Promise<ObjectGraph> {
  const silent = new Map(operators.flatMap(({ kinds }) => kinds.map(({ kind, isSilent }) => [kindId(kind), isSilent])));
  const wanted = discovery.kinds.filter((kind) => silent.has(kindId(kind)) || CREATED[kindId(kind)] !== undefined);
  const entries = new Map<string, Entry>();
  const unread: string[] = [];
  const kinds = new Map(wanted.map((kind) => [kindId(kind), kind]));
  await Promise.all(
    [...kinds.values()].map(async (kind) => {
      const id = kindId(kind);
      const metadataOnly = CREATED[id] === false;
      try {
        for await (const { items } of client.pages(kind, { metadataOnly, signal }))
          for (const object of items) {
            const typed = { ...object, apiVersion: kind.apiVersion, kind: kind.kind };
            const node = { kind: id, object: keyOf(object), ...stateOf(id, typed, silent.get(id), unserved) };
            entries.set(keyOfNode(node), { node, object: typed });
          }
      } catch (error) {
        if (!isForbidden(error) && !isNotFound(error)) throw error;
        unread.push(id);
      }
    }),
  );
  return connect(entries, kinds, unread.toSorted());
}

function connect(
  entries: ReadonlyMap<string, Entry>,
  kinds: ReadonlyMap<string, Kind>,
  unread: readonly string[],
): ObjectGraph {
  const byUid = new Map([...entries.values()].map((entry) => [entry.object.metadata.uid, entry.node]));
  const [depends, needed, owns, belongs] = [edges(), edges(), edges(), edges()];
  for (const { node, object } of entries.values()) {
    for (const owner of ownersOf(object)) {
      belongs.add(node, owner);
      owns.add(owner, node);
    }
    for (const target of targetsOf(object)) {
      if (keyOfNode(target) === keyOfNode(node)) continue;
      depends.add(node, target);
      needed.add(target, node);
    }
  }
  return {
    find: (kind, object) => entries.get(keyOfNode({ kind, object }))?.node,
    dependsOn: depends.of,
    neededBy: needed.of,
    owns: owns.of,
    belongsTo: belongs.of,
    unread,
  };

  /** By owner references, and by the runtime's mark where these cannot reach: in other namespaces. */
  function ownersOf({ metadata }: KubeObject): Node[] {
    const owners = (metadata.ownerReferences ?? []).flatMap(({ uid }) => byUid.get(uid) ?? []);
    const [, kind = '', object = ''] = (metadata.annotations?.[OWNER_ANNOTATION] ?? '').split(' ');
    const marked = entries.get(keyOfNode({ kind, object }))?.node;
    return marked === undefined || owners.includes(marked) ? owners : [...owners, marked];
  }

  function targetsOf(object: KubeObject): Node[] {
    const group = groupOf(object);
    return referencesOf(object).flatMap(({ kind, word, namespace = object.metadata.namespace, name }) => {
      const candidates = [...kinds]
        .map(([id, one]) => ({ id, one, rank: kind === undefined ? fit(word, one.kind) : one.kind === kind ? 100 : 0 }))
        .filter(({ rank }) => rank > 0)
        // The one of the same group comes first if two fit equally well.
        .toSorted((a, b) => b.rank - a.rank || Number(b.one.group === group) - Number(a.one.group === group));
      const keys = candidates.map(({ id, one }) => ({
        kind: id,
        object: one.scope === 'Namespaced' ? `${namespace ?? ''}/${name}` : name,
      }));
      const present = keys.flatMap((key) => entries.get(keyOfNode(key))?.node ?? []).slice(0, 1);
      const [best] = keys;
      if (present.length > 0 || best === undefined || unread.includes(best.kind)) return present;
      // A word that fits no kind well may be no reference at all.
      if ((candidates[0]?.rank ?? 0) < 10) return [];
      return [{ ...best, state: 'Missing' as const, message: '' }];
    });
  }
}

function edges() {
  const found = new Map<string, Map<string, Node>>();
  return {
    add(from: Node, to: Node) {
      const of = found.get(keyOfNode(from)) ?? new Map<string, Node>();
      found.set(keyOfNode(from), of.set(keyOfNode(to), to));
    },
    of: (node: Node): readonly Node[] =>
      [...(found.get(keyOfNode(node))?.values() ?? [])].toSorted((a, b) => (keyOfNode(a) < keyOfNode(b) ? -1 : 1)),
  };
}

export const keyOfNode = ({ kind, object }: Pick<Node, 'kind' | 'object'>) => `${kind} ${object}`;

const keyOf = ({ metadata: { namespace, name = '' } }: KubeObject) =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;

const groupOf = ({ apiVersion }: KubeObject) => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '');

function stateOf(
  id: string,
  object: KubeObject,
  isSilent: boolean | undefined,
  unserved: GraphOptions['unserved'],
): Pick<Node, 'state' | 'message'> {
  if (isSilent !== undefined) {
    const reason = unserved(object);
    const { state, reason: why, message } = reason === undefined ? healthOf(object, isSilent) : pending(reason);
    return { state, message: [why, message].filter((text) => text !== '').join(': ') };
  }
  if (object.metadata.deletionTimestamp !== undefined) return { state: 'Deleting', message: '' };
  if (id === 'Pod') {
    const problem = podProblem(object);
    const isReady = (object as Pod).status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
    if (isReady === true) return { state: 'Ready', message: '' };
    return { state: problem === undefined ? 'Pending' : 'NotReady', message: problem?.message ?? '' };
  }
  if (CREATED[id] !== true) return { state: 'Present', message: '' };
  const { isComplete, available, wanted, problem } =
    id === 'DaemonSet.apps' ? ofNodes(object) : rolloutProgress(object);
  if (isComplete) return { state: 'Ready', message: `${available} of ${wanted} ready` };
  const parts = [`${available} of ${wanted} ready`, problem?.message ?? ''];
  return { state: 'NotReady', message: parts.filter((text) => text !== '').join(': ') };
}

/** A DaemonSet counts nodes. */
function ofNodes({ metadata, status }: DaemonSet) {
  const {
    desiredNumberScheduled: wanted = 0,
    numberAvailable: available = 0,
    updatedNumberScheduled = 0,
  } = status ?? {};
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return {
    wanted,
    available,
    isComplete: isSeen && available >= wanted && updatedNumberScheduled >= wanted,
    problem: undefined,
  };
}
