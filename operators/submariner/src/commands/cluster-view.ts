// The state of the cluster set as one cluster knows it, for the commands.
import { type Client, ConfigMap, isNotFound, type Kind, type KubeObject } from '@capstan/kube';
import {
  BROKER_NAMESPACE,
  Broker,
  CablePolicies,
  Cluster,
  Endpoint,
  Gateway,
  MEMBER_NAMESPACE,
  ORIGIN_LABEL,
  Submariner,
} from '../kinds/index.ts';
import { withInlineOptions } from '../policy/inline-options.ts';
import { DEFAULT_POLICY, type Policy, readPolicy } from '../policy/read-policy.ts';
import { type ClusterFacts, clusterFacts } from '../resolution/cluster-labels.ts';
import type { Offer } from '../resolution/decision.ts';
import { offerOfEndpoint } from '../resolution/endpoint-offer.ts';
import { isOriginal } from '../sync/content.ts';
import { isSuperseded, lastDefaultOf, policyInForce } from '../sync/in-force.ts';
import { CommandErrors } from './errors.ts';
import type { CommandContext } from './io.ts';

export interface Place {
  readonly namespace: string;
  /** Whether it is the broker's own namespace. */
  readonly isBroker: boolean;
  /** The id of the member. */
  readonly clusterID?: string;
}

export interface ClusterView extends Place {
  readonly objects: readonly CablePolicies[];
  /** All objects in their order, with their rules in force. If none are in force, they have the rules of the spec. */
  readonly all: readonly Policy[];
  /** The policies in force, with the options of their ConfigMaps. */
  readonly policies: readonly Policy[];
  readonly clusters: readonly ClusterFacts[];
  readonly clusterObjects: readonly Cluster[];
  readonly endpoints: readonly Endpoint[];
  readonly onConflict: 'pick' | 'refuse';
  readonly requiresEncryption: boolean;
  offerOf(cluster: string): Offer | undefined;
}

/** Returns the namespace of Submariner's objects: the operator's on a member, otherwise the broker's. */
export async function findPlace({ client, flags, io: { signal } }: CommandContext): Promise<Place> {
  const given = flags.text('namespace');
  if (given !== undefined) return { namespace: given, isBroker: given === BROKER_NAMESPACE };
  const members = await all(client, Submariner, undefined, signal);
  const [member] = members ?? [];
  if (member !== undefined)
    return {
      namespace: member.metadata.namespace ?? MEMBER_NAMESPACE,
      isBroker: false,
      clusterID: member.spec.clusterID,
    };
  const [broker] = (await all(client, Broker, undefined, signal)) ?? [];
  if (broker !== undefined) return { namespace: broker.metadata.namespace ?? BROKER_NAMESPACE, isBroker: true };
  throw CommandErrors.NotInstalled();
}

export async function readView(context: CommandContext): Promise<ClusterView> {
  const { client, io } = context;
  const place = await findPlace(context);
  const { namespace } = place;
  const list = async <T extends KubeObject>(kind: Kind<T>) => (await all(client, kind, namespace, io.signal)) ?? [];
  const [objects, clusters, endpoints, brokers] = await Promise.all([
    list(CablePolicies),
    list(Cluster),
    list(Endpoint),
    list(Broker),
  ]);
  const offers = new Map(endpoints.map(({ spec }) => [spec.cluster_id, offerOfEndpoint(spec)]));
  const options = await optionsOf(context, objects);
  const isMember = brokers.some(({ metadata }) => metadata.labels?.[ORIGIN_LABEL] !== undefined);
  const policies = objects.map((object) => {
    const complete = { ...object, spec: withOptions(object, options) };
    const policy = policyInForce(complete, { isMember });
    // A member's own policies have no origin label.
    const isOwn = place.clusterID !== undefined && object.metadata.labels?.[ORIGIN_LABEL] === undefined;
    const origin = isOwn ? (place.clusterID ?? '') : policy.origin;
    const isInForce = policy.rules.length > 0 && !isSuperseded(object);
    return {
      inForce: { ...policy, origin },
      shown: { ...(isInForce ? policy : readPolicy(complete)), origin },
      object,
    };
  });
  const inForce = policies.flatMap((policy) => (isSuperseded(policy.object) ? [] : [policy.inForce]));
  const lastDefault = brokers.map(lastDefaultOf).find((spec) => spec !== undefined);
  if (lastDefault !== undefined && !inForce.some(({ name }) => name === DEFAULT_POLICY))
    inForce.push(readPolicy({ metadata: { name: DEFAULT_POLICY }, spec: lastDefault }));
  return {
    ...place,
    objects,
    all: policies.map(({ shown }) => shown),
    policies: inForce,
    clusters: clusters.map(clusterFacts).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    clusterObjects: clusters,
    endpoints,
    onConflict: brokers[0]?.spec.onConflict ?? 'pick',
    requiresEncryption: brokers.some(({ spec }) => spec.minimumSecurity === 'encrypted'),
    offerOf: (id) => offers.get(id),
  };
}

export async function readGateways({ client, io }: CommandContext, namespace: string): Promise<readonly Gateway[]> {
  return (await all(client, Gateway, namespace, io.signal)) ?? [];
}

/** Returns the data of the ConfigMaps that policies of this cluster name, by namespace and name. */
export async function optionsOf(
  { client, io: { signal } }: CommandContext,
  objects: readonly CablePolicies[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  const named = new Set<string>();
  for (const object of objects)
    if (isOriginal(object.metadata))
      withInlineOptions(object.spec, (name, namespace = object.metadata.namespace ?? '') => {
        named.add(`${namespace}/${name}`);
        return undefined;
      });
  const found = new Map<string, Readonly<Record<string, string>>>();
  for (const key of named) {
    const [namespace = '', name = ''] = key.split('/');
    const { data } = (await client.find(ConfigMap, { namespace, name }, { signal })) ?? {};
    if (data !== undefined) found.set(key, data);
  }
  return found;
}

export function withOptions(
  { metadata, spec }: CablePolicies,
  options: Awaited<ReturnType<typeof optionsOf>>,
): unknown {
  if (!isOriginal(metadata)) return spec;
  return withInlineOptions(spec, (name, namespace = metadata.namespace ?? '') => options.get(`${namespace}/${name}`))
    .spec;
}

/** Lists all objects of a kind. Returns undefined if the kind is not installed. */
async function all<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly T[] | undefined> {
  try {
    const found: T[] = [];
    for await (const { items } of client.pages(kind, { ...(namespace !== undefined && { namespace }), signal }))
      found.push(...items);
    return found;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
