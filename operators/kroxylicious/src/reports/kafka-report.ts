// The page of Kafka proxies: the hash tree of a proxy, from the Secrets that it covers to the pods that run it.
import { Deployment, findCondition, kindId, Pod } from '@capstan/kube';
import { type Digest, derivation, type Reader, type Report, reading, report } from '@capstan/reconcile';
import { compose } from '../configuration/compose.ts';
import { reportedHash } from '../hash/combine-hashes.ts';
import { interpolate } from '../interpolation/placeholder.ts';
import {
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  VirtualKafkaCluster,
} from '../kinds/index.ts';
import { CHECKSUM_ANNOTATION, CLUSTER_LABEL, MANAGED_BY, proxySelector, workloadName } from '../kinds/labels.ts';
import type { MountSource } from '../resolution/mounts.ts';
import type { Problem } from '../resolution/problem.ts';
import { rolloutOf } from '../resolution/rollout.ts';
import { keysOf } from '../tls/resolve-tls.ts';
import type { ClusterFragment, ServedFragment } from '../tree/cluster-fragment.ts';
import type { ClusterNodes } from '../tree/cluster-node.ts';
import { filterNode } from '../tree/filter-node.ts';
import { ingressNode } from '../tree/ingress-node.ts';
import { keyIn, keyOfAny, refOfKey, specOf } from '../tree/keys.ts';
import { clustersOfProxy } from '../tree/network-plan.ts';
import { servedClusters } from '../tree/served-clusters.ts';
import { serviceNode } from '../tree/service-node.ts';

export interface KafkaReport {
  readonly proxy: string;
  readonly hash: string;
  readonly runningHash?: string;
  readonly nodes: readonly TreeNode[];
  /** From an input to its reader. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
  readonly pods: readonly {
    readonly name: string;
    readonly hash: string;
    readonly isCurrent: boolean;
    readonly isReady: boolean;
  }[];
  readonly questions: readonly { readonly id: string; readonly field: string; readonly rolls: boolean }[];
  readonly clusters: readonly {
    readonly name: string;
    readonly bootstrap: readonly string[];
    readonly filters: readonly string[];
    readonly service: string;
    readonly isServed: boolean;
    /** The short hash of the last good configuration, where that is served in place of the present one. */
    readonly lastGood?: string;
    readonly problems: readonly string[];
  }[];
  readonly rollout?: {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
    readonly since?: string;
  };
}

interface TreeNode {
  readonly id: string;
  readonly world: string;
  readonly kind: string;
  readonly key: string;
  readonly column: 0 | 1 | 2 | 3;
  readonly covers: string;
  readonly hash: string;
  /** The short hash of the last good configuration, while the present one cannot be computed. */
  readonly lastGood?: string;
  readonly problems: readonly string[];
}

/** A step of the page is a change of a hash of the tree; pods follow it. */
function hashesOf(body: KafkaReport | KafkaProxies): unknown {
  if ('proxies' in body) return undefined;
  return body.nodes.map(({ id, hash }) => [id, hash]);
}

export function createKafkaReport(clusterNode: ClusterNodes): Report {
  return report({
    name: 'kafka',
    title: 'Kafka',
    stepKeys: (body) => ('proxies' in body ? body.proxies.map(({ key }) => key) : []),
    stepOf: hashesOf,
    of: derivation({
      name: 'kafka-report',
      compute({ key, read, digest }) {
        return key === '' ? proxiesOf(read, clusterNode) : proxyReport(key, read, digest, clusterNode);
      },
    }),
    reads: [
      KafkaProxy,
      VirtualKafkaCluster,
      KafkaService,
      KafkaProtocolFilter,
      KafkaProxyIngress,
      reading(Deployment, 'everywhere'),
      reading(Pod, 'everywhere', {
        fields: ['status.conditions', `metadata.annotations[${CHECKSUM_ANNOTATION}]`],
        labels: { matchLabels: { [MANAGED_BY.label]: MANAGED_BY.value } },
      }),
    ],
  });
}

type KafkaProxies = ReturnType<typeof proxiesOf>;

function proxiesOf(read: Reader, clusterNode: ClusterNodes) {
  return {
    proxies: read.list(KafkaProxy, {}, keyOfAny).map((key) => ({
      key,
      hash: hashOf(key, read, clusterNode),
      clusters: read.by(clustersOfProxy, key, keyOfAny).length,
    })),
  };
}

const partOf = ({ spec }: KafkaProxy) => ({ network: spec?.network, micrometer: spec?.micrometer });

function servedOf(key: string, read: Reader, clusterNode: ClusterNodes): readonly ServedFragment[] {
  const rollout = read.get(Deployment, refOfKey(key), rolloutOf);
  return servedClusters(read, clusterNode, key, rollout?.clusters).served;
}

/** The hash that the present inputs give; empty while no cluster can be served. */
function hashOf(key: string, read: Reader, clusterNode: ClusterNodes): string {
  const part = read.get(KafkaProxy, refOfKey(key), partOf);
  const served = servedOf(key, read, clusterNode);
  return served.length === 0 ? '' : reportedHash(compose(definedOf(part), served).hash);
}

function definedOf(part: ReturnType<typeof partOf> | undefined) {
  return {
    ...(part?.network !== undefined && { network: part.network }),
    ...(part?.micrometer !== undefined && { micrometer: part.micrometer }),
  };
}

function proxyReport(key: string, read: Reader, digest: Digest, clusterNode: ClusterNodes): KafkaReport | undefined {
  const ref = refOfKey(key);
  const ready = read.get(KafkaProxy, ref, readyOf);
  if (ready === undefined) return undefined;
  const tree = createTree(ref.namespace);
  const hash = hashOf(key, read, clusterNode);
  const top = tree.add(KafkaProxy, ref.name, 3, 'spec.network, spec.micrometer and its virtual clusters', hash, []);
  const stale = new Map(
    servedOf(key, read, clusterNode).flatMap(({ fragment, isStale }) =>
      isStale ? [[fragment.config.name, fragment] as const] : [],
    ),
  );
  const clusters = read.by(clustersOfProxy, key, keyOfAny).map((cluster) => {
    const { name } = refOfKey(cluster);
    return addCluster(name, top, tree, { read, digest, clusterNode, namespace: ref.namespace, stale });
  });
  const running = read.get(Deployment, ref, rolloutOf)?.hash;
  const pods = read.list(Pod, { namespace: ref.namespace, labels: proxySelector(ref.name) }, podOf);
  return {
    proxy: key,
    hash,
    ...(running !== undefined && { runningHash: reportedHash(running) }),
    nodes: tree.nodes(),
    edges: tree.edges(),
    pods: pods.map(({ name, checksum, cluster, isReady }) => {
      // Isolated clusters have Deployments of their own.
      const at = { namespace: ref.namespace, name: workloadName({ proxy: ref.name, ...(cluster && { cluster }) }) };
      const wanted = read.get(Deployment, at, rolloutOf)?.hash;
      const isCurrent = checksum !== undefined && checksum === wanted;
      return { name, hash: checksum === undefined ? '' : reportedHash(checksum), isCurrent, isReady };
    }),
    questions: tree.nodes().flatMap(questionsOf),
    clusters,
    ...(ready.type !== '' && { rollout: ready }),
  };
}

function readyOf({ status }: KafkaProxy) {
  const found = findCondition(status?.conditions, 'Ready');
  const { type = '', status: is = '', reason = '', message = '', lastTransitionTime: since } = found ?? {};
  return { type, status: is, reason, message, ...(since !== undefined && { since }) };
}

function podOf({ metadata, status }: Pod) {
  return {
    name: metadata.name ?? '',
    cluster: metadata.labels?.[CLUSTER_LABEL],
    checksum: metadata.annotations?.[CHECKSUM_ANNOTATION],
    isReady: status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false,
  };
}

interface Tree {
  /** Adds a node once, and returns its id. */
  add(
    kind: Parameters<typeof kindId>[0],
    name: string,
    column: TreeNode['column'],
    covers: string,
    hash: string,
    problems: readonly Problem[],
    lastGood?: string,
  ): string;
  addSource(
    source: MountSource,
    name: string,
    keys: readonly string[],
    hash: string,
    problems: readonly string[],
  ): string;
  link(from: string, to: string): void;
  nodes(): readonly TreeNode[];
  edges(): KafkaReport['edges'];
}

function createTree(namespace: string): Tree {
  const nodes = new Map<string, TreeNode>();
  const edges = new Map<string, { readonly from: string; readonly to: string }>();
  const put = (kind: string, name: string, node: Omit<TreeNode, 'id' | 'world' | 'kind' | 'key'>) => {
    const key = keyIn({ namespace }, name);
    const id = `${kind} ${key}`;
    if (!nodes.has(id)) nodes.set(id, { id, world: '', kind, key, ...node });
    return id;
  };
  return {
    add: (kind, name, column, covers, hash, problems, lastGood) =>
      put(kindId(kind), name, {
        column,
        covers,
        hash,
        ...(lastGood !== undefined && { lastGood }),
        problems: textsOf(problems),
      }),
    addSource: (source, name, keys, hash, problems) =>
      put(source, name, {
        column: 0,
        covers: `${keys.length === 1 ? 'key' : 'keys'} ${keys.toSorted().join(', ')}`,
        hash,
        problems,
      }),
    link: (from, to) => void edges.set(`${from} > ${to}`, { from, to }),
    nodes: () => [...nodes.values()],
    edges: () => [...edges.values()],
  };
}

interface Place {
  readonly read: Reader;
  readonly digest: Digest;
  readonly clusterNode: ClusterNodes;
  readonly namespace: string;
  /** The last good configurations that are served in place of present ones, by the name of their cluster. */
  readonly stale: ReadonlyMap<string, ClusterFragment>;
}

function addCluster(name: string, top: string, tree: Tree, place: Place): KafkaReport['clusters'][number] {
  const { read, clusterNode, namespace, stale } = place;
  const ref = { namespace, name };
  const spec = specOf(read, VirtualKafkaCluster, ref);
  const node = read.derived(clusterNode, keyIn(ref, name));
  const fragment = node?.served?.fragment;
  const problems = node?.problems ?? [];
  const hash = fragment === undefined ? '' : reportedHash(fragment.hash);
  const good = stale.get(name);
  const lastGood = good && reportedHash(good.hash);
  const covers = 'spec, its filters, service and ingresses';
  const id = tree.add(VirtualKafkaCluster, name, 2, covers, hash, problems, lastGood);
  tree.link(id, top);
  const filters = (spec?.filterRefs ?? []).map((one) => one.name);
  for (const filter of filters) tree.link(addFilter(filter, tree, place), id);
  const service = spec?.targetKafkaServiceRef.name ?? '';
  if (service !== '') tree.link(addService(service, tree, place), id);
  for (const { ingressRef } of spec?.ingresses ?? []) {
    const ingress = read.derived(ingressNode, keyIn(ref, ingressRef.name));
    const added = tree.add(
      KafkaProxyIngress,
      ingressRef.name,
      1,
      'spec.proxyRef and the way in',
      ingress === undefined ? '' : reportedHash(ingress.hash),
      ingress?.problems ?? [],
    );
    tree.link(added, id);
  }
  // Mounts that neither a filter nor the service brings are certificates of the cluster's own gateways.
  const known = new Set(tree.nodes().flatMap(({ column, id: one }) => (column === 0 ? [one] : [])));
  for (const { source, name: from, keys = [] } of fragment?.mounts ?? [])
    if (!known.has(`${source} ${keyIn(ref, from)}`)) tree.link(addSource(source, from, keys, tree, place), id);
  return {
    name,
    bootstrap: (fragment ?? good)?.ways.flatMap(({ bootstrapServer }) => bootstrapServer ?? []) ?? [],
    filters,
    service,
    isServed: fragment !== undefined || good !== undefined,
    ...(lastGood !== undefined && { lastGood }),
    problems: textsOf(problems),
  };
}

function addFilter(name: string, tree: Tree, place: Place): string {
  const { read, namespace } = place;
  const node = read.derived(filterNode, keyIn({ namespace }, name));
  const problems = node?.problems ?? [];
  const hash = node?.valid === undefined ? '' : reportedHash(node.valid.hash);
  const id = tree.add(KafkaProtocolFilter, name, 1, 'spec.type and spec.configTemplate', hash, problems);
  // The keys are known from the template, also where a Secret is absent.
  const spec = specOf(read, KafkaProtocolFilter, { namespace, name });
  const { references } = spec === undefined ? { references: [] } : interpolate(spec.configTemplate, ({ key }) => key);
  const bySource = Map.groupBy(references, ({ provider, name: from }) => `${provider} ${from}`);
  for (const all of bySource.values()) {
    const [first] = all;
    if (first === undefined) continue;
    const source = first.provider === 'secret' ? 'Secret' : 'ConfigMap';
    tree.link(addSource(source, first.name, [...new Set(all.map(({ key }) => key))], tree, place), id);
  }
  return id;
}

function addService(name: string, tree: Tree, place: Place): string {
  const node = place.read.derived(serviceNode, keyIn(place, name));
  const hash = node?.valid === undefined ? '' : reportedHash(node.valid.hash);
  const id = tree.add(KafkaService, name, 1, 'spec', hash, node?.problems ?? []);
  for (const { source, name: from, keys = [] } of node?.valid?.mounts ?? [])
    tree.link(addSource(source, from, keys, tree, place), id);
  return id;
}

/** A Secret or ConfigMap, with the digest of the keys that are mounted; keyed for a Secret. */
function addSource(
  source: MountSource,
  name: string,
  keys: readonly string[],
  tree: Tree,
  { read, digest, namespace }: Place,
): string {
  const data = keysOf(read, source, { namespace, name });
  const content = keys.map((key) => data?.(key)?.text);
  const missing = keys.filter((_key, at) => content[at] === undefined);
  const problems =
    data === undefined
      ? [`${source} ${namespace}/${name} does not exist`]
      : missing.map((key) => `${source} ${namespace}/${name} has no key ${key}`);
  return tree.addSource(source, name, keys, problems.length > 0 ? '' : reportedHash(digest(content)), problems);
}

function textsOf(problems: readonly Problem[]): string[] {
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

/** Fields of each sort of input that people ask about, and whether they are in the hash or in the pod template. */
const FIELDS: Readonly<Record<string, readonly (readonly [string, boolean])[]>> = {
  [kindId(KafkaProxy)]: [
    ['spec.network', true],
    ['spec.micrometer', true],
    ['spec.infrastructure', true],
    ['spec.replicas', false],
    ['spec.rollout', false],
    ['metadata.labels', false],
  ],
  [kindId(VirtualKafkaCluster)]: [
    ['spec', true],
    ['metadata.labels', false],
  ],
  [kindId(KafkaProtocolFilter)]: [
    ['spec.type', true],
    ['spec.configTemplate', true],
    ['metadata.labels', false],
  ],
  [kindId(KafkaService)]: [
    ['spec', true],
    ['metadata.labels', false],
  ],
  [kindId(KafkaProxyIngress)]: [
    ['spec.clusterIP', true],
    ['spec.loadBalancer', true],
    ['spec.infrastructure.annotations', false],
    ['metadata.labels', false],
  ],
};

function questionsOf({ id, kind, column, covers }: TreeNode): KafkaReport['questions'] {
  if (column !== 0) return (FIELDS[kind] ?? []).map(([field, rolls]) => ({ id, field, rolls }));
  const keys = covers.replace(/^keys? /, '').split(', ');
  return [
    ...keys.map((key) => ({ id, field: `data.${key}`, rolls: true })),
    { id, field: 'other keys', rolls: false },
    { id, field: 'metadata', rolls: false },
  ];
}
