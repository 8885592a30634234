// The node of a VirtualKafkaCluster, leaf and aggregator: it combines its filters, its service and its ingresses, and adds
// the certificates of its own ways in. Its result is the cluster's fragment of the configuration, checked by the validator.
import { type DerivationDefinition, derivation, plainDigest, type Reader } from '@capstan/reconcile';
import type { GatewayConfig, TlsConfig, VirtualClusterConfig } from '../configuration/schema.ts';
import { SNI_PORT } from '../configuration/schema.ts';
import { validateFilterDefinition, validateVirtualCluster } from '../configuration/validate.ts';
import { combineHashes, type HashedChild } from '../hash/combine-hashes.ts';
import { type ClusterIngress, KafkaProxy, MAX_CLUSTER_AND_INGRESS, VirtualKafkaCluster } from '../kinds/index.ts';
import type { Mount } from '../resolution/mounts.ts';
import { distinctMounts, MOUNT_PATHS } from '../resolution/mounts.ts';
import { named, notFound, type Problem, problem, type Warning } from '../resolution/problem.ts';
import type { Settings } from '../settings.ts';
import { allowedDenied, resolveCertificate, resolveTrust, UNRESOLVED } from '../tls/resolve-tls.ts';
import { inspectTlsLists } from '../tls/tls-lists.ts';
import {
  bootstrapServiceName,
  type ClusterFragment,
  type ClusterWay,
  LOAD_BALANCER_PORT,
  nodeServiceName,
  type ServedFragment,
  served,
  TLS_CLIENT_PORT,
} from './cluster-fragment.ts';
import { type FilterNode, filterNode } from './filter-node.ts';
import { type IngressWay, ingressNode, ingressPartOf } from './ingress-node.ts';
import { exists, keyIn, type NamespacedRef, refOfKey, specOf } from './keys.ts';
import { clusterNetwork } from './network-plan.ts';
import { resolveRouteWay } from './route-way.ts';
import { type NamedRange, nodeIdRangesOf, serviceNode } from './service-node.ts';

export interface ClusterNode {
  /** The KafkaProxy that it names. */
  readonly proxy: string;
  readonly problems: readonly Problem[];
  /** Served all the same. */
  readonly warnings: readonly Warning[];
  /** Ways in by Routes, which must be made before it is known what clients call them; also while there are problems. */
  readonly routes: readonly ClusterWay[];
  /** Absent while there are problems. */
  readonly served?: ServedFragment;
}

export type ClusterNodes = DerivationDefinition<ClusterNode | undefined>;

/** Undefined when there is no such cluster. */
export function createClusterNode(settings: Pick<Settings, 'clusterDomain'>): ClusterNodes {
  return derivation<ClusterNode | undefined>({
    name: 'VirtualKafkaCluster',
    compute({ key, read, digest }) {
      const ref = refOfKey(key);
      const spec = specOf(read, VirtualKafkaCluster, ref);
      if (spec === undefined) return undefined;
      const proxy = spec.proxyRef.name;
      const problems: Problem[] = [];
      const warnings: Warning[] = [];
      const proxyRef = { namespace: ref.namespace, name: proxy };
      if (read.get(KafkaProxy, proxyRef, exists) === undefined)
        problems.push(notFound('spec.proxyRef', 'KafkaProxy', proxyRef));

      const service = usable(
        read.derived(serviceNode, keyIn(ref, spec.targetKafkaServiceRef.name)),
        'KafkaService',
        spec.targetKafkaServiceRef.name,
        'spec.targetKafkaServiceRef',
        ref,
        problems,
      );
      const filters = (spec.filterRefs ?? []).map(({ name }, i) =>
        usable(
          read.derived(filterNode, keyIn(ref, name)),
          'KafkaProtocolFilter',
          name,
          `spec.filterRefs[${i}]`,
          ref,
          problems,
        ),
      );
      const gateways = resolveGateways(spec.ingresses, {
        ref,
        proxy,
        read,
        serviceName: spec.targetKafkaServiceRef.name,
        problems,
        warnings,
        domain: settings.clusterDomain,
      });
      const known = gateways.flatMap(({ config: gateway }) => gateway ?? []);
      const routes = gateways.map(({ way }) => way).filter(({ type }) => type === 'Route');
      const found = { proxy, problems, warnings, routes };
      if (known.length === 0 && problems.length === 0)
        problems.push(
          problem(
            'ReferencedResourceNotReconciled',
            'spec.ingresses',
            `no way in is ready: ${warnings.map(({ message }) => message).join('; ')}`,
          ),
        );
      if (problems.length > 0 || service === undefined) return found;

      const definitions = new Map<string, NonNullable<FilterNode['valid']>>();
      for (const filter of filters) if (filter !== undefined) definitions.set(filter.definition.name, filter);
      const config: VirtualClusterConfig = {
        name: ref.name,
        targetCluster: service.target,
        gateways: known,
        ...(filters.length > 0 ? { filters: filters.flatMap((filter) => filter?.definition.name ?? []) } : {}),
      };
      const faults = [
        ...validateVirtualCluster(config, ''),
        ...[...definitions.values()].flatMap(({ definition }) =>
          validateFilterDefinition(definition, `filter ${definition.name}`),
        ),
      ];
      if (faults.length > 0)
        return {
          ...found,
          problems: faults.map(({ path, problem: wrong }) =>
            path === 'name'
              ? problem(
                  'Invalid',
                  'metadata.name',
                  `${wrong} for the proxy to take it; give the cluster such a name`,
                  'Accepted',
                )
              : problem('Invalid', 'spec', `the proxy would refuse the configuration: ${path} ${wrong}`, 'Accepted'),
          ),
        };

      const ingresses = distinct(gateways.map(({ way, hash }) => ({ name: way.ingress, hash })));
      const children: HashedChild[] = [
        { name: `KafkaService ${spec.targetKafkaServiceRef.name}`, hash: service.hash },
        ...[...definitions.values()].map(({ definition, hash }) => ({ name: definition.name, hash })),
        ...ingresses.map(({ name, hash }) => ({ name: `KafkaProxyIngress ${name}`, hash })),
        // Leaf of its own: the certificates of its ways in.
        { name: 'certificates', hash: digest(gateways.map(({ content }) => content)) },
      ];
      const mounts = distinctMounts([
        ...[...definitions.values()].flatMap((filter) => filter.mounts),
        ...service.mounts,
        ...gateways.flatMap((gateway) => gateway.mounts),
      ]);
      const fragment: ClusterFragment = {
        proxy,
        config,
        configId: plainDigest(config),
        filterDefinitions: [...definitions.values()].map(({ definition }) => definition),
        mounts,
        ways: gateways.map(({ way }) => way),
        ingresses,
        hash: combineHashes(config, children),
      };
      return { ...found, served: served(fragment) };
    },
  });
}

/** The valid part of a referent; what is wrong with it is told on the cluster as well. */
function usable<V>(
  node: { problems: readonly Problem[]; valid?: V } | undefined,
  kind: string,
  name: string,
  path: string,
  { namespace }: NamespacedRef,
  problems: Problem[],
): V | undefined {
  const at = { namespace, name };
  if (node === undefined) problems.push(notFound(path, kind, at));
  else if (node.valid === undefined)
    problems.push(
      problem(
        'TransitivelyReferencedResourcesNotFound',
        path,
        `${named(kind, at)} has a fault of its own: ${node.problems.map((one) => `${one.path}: ${one.message}`).join('; ')}`,
      ),
    );
  return node?.valid;
}

interface Surroundings {
  readonly ref: NamespacedRef;
  readonly proxy: string;
  readonly read: Reader;
  readonly serviceName: string;
  readonly problems: Problem[];
  readonly warnings: Warning[];
  readonly domain: string;
}

interface Gateway {
  /** Absent while its addresses are not known. */
  readonly config: GatewayConfig | undefined;
  readonly way: ClusterWay;
  readonly hash: string;
  readonly mounts: readonly Mount[];
  readonly content: readonly unknown[];
}

function resolveGateways(ingresses: readonly ClusterIngress[], around: Surroundings): Gateway[] {
  const { ref, proxy, read, problems, warnings } = around;
  const network = read.derived(clusterNetwork, keyIn(ref, ref.name));
  const seen = new Set<string>();
  let routed: string | undefined;
  return ingresses.flatMap((ingress, i): Gateway[] => {
    const path = `spec.ingresses[${i}]`;
    const { name } = ingress.ingressRef;
    const at = { namespace: ref.namespace, name };
    const add = (...found: Problem[]) => {
      problems.push(...found);
      return [];
    };
    if (seen.has(name))
      return add(
        problem('Invalid', `${path}.ingressRef`, `the ingress ${name} is there twice; name each once`, 'Accepted'),
      );
    seen.add(name);
    if (ref.name.length + name.length > MAX_CLUSTER_AND_INGRESS)
      return add(
        problem(
          'Invalid',
          `${path}.ingressRef`,
          `the Service ${bootstrapServiceName(ref.name, name)} would have too long a name: cluster and ingress together may have ${MAX_CLUSTER_AND_INGRESS} characters; shorten one`,
          'Accepted',
        ),
      );
    const node = read.derived(ingressNode, keyIn(ref, name), ingressPartOf);
    if (node === undefined) return add(notFound(`${path}.ingressRef`, 'KafkaProxyIngress', at));
    if (node.proxy !== proxy)
      return add(
        problem(
          'TransitivelyReferencedResourcesNotFound',
          `${path}.ingressRef`,
          `${named('KafkaProxyIngress', at)} belongs to the proxy ${node.proxy}, not to ${proxy}; use an ingress of ${proxy}`,
        ),
      );
    const [fault] = node.problems;
    if (fault !== undefined)
      return add(
        problem(
          'TransitivelyReferencedResourcesNotFound',
          `${path}.ingressRef`,
          `${named('KafkaProxyIngress', at)} has a fault of its own: ${fault.path}: ${fault.message}`,
        ),
      );
    if (node.way.type === 'Route' && routed !== undefined)
      return add(
        problem(
          'Invalid',
          `${path}.ingressRef`,
          `the ingresses ${routed} and ${name} would make the same Routes; a cluster can have one ingress by Routes`,
          'Accepted',
        ),
      );
    if (node.way.type === 'Route') routed = name;
    const refusal = network.refused[name];
    if (refusal !== undefined) return add(problem('Invalid', path, refusal, 'Accepted'));
    const tls = resolveGatewayTls(ingress, node.way, path, around);
    if (tls.problems.length > 0) return add(...tls.problems);
    warnings.push(...tls.warnings);
    const ranges = read.derived(serviceNode, keyIn(ref, around.serviceName), nodeIdRangesOf) ?? [];
    const addressing = { ...around, ingress: name, path, ranges, ports: network.ports[name] };
    const addressed = addressesOf(node.way, addressing);
    if (addressed === undefined) return [];
    warnings.push(...(addressed.warnings ?? []));
    const config = addressed.config && { name, ...addressed.config, ...(tls.value ? { tls: tls.value } : {}) };
    return [{ config, way: addressed.way, hash: node.hash, mounts: tls.mounts, content: tls.content }];
  });
}

interface Addressing extends Surroundings {
  readonly ingress: string;
  readonly path: string;
  readonly ranges: readonly NamedRange[];
  readonly ports: ClusterWay['ports'];
}

/** Addresses inside the proxy and for clients; undefined while ports wait for something that is wrong already. */
function addressesOf(
  way: IngressWay,
  { ref, ingress, path, ranges, ports, domain, read }: Addressing,
): { config?: Omit<GatewayConfig, 'name' | 'tls'>; way: ClusterWay; warnings?: readonly Warning[] } | undefined {
  const cluster = ref.name;
  const host = (service: string) => `${service}.${ref.namespace}.svc.${domain}`;
  const bootstrapHost = host(bootstrapServiceName(cluster, ingress));
  const nodeIds = ranges
    .flatMap(({ start, end }) => Array.from({ length: end - start + 1 }, (_, i) => start + i))
    .toSorted((left, right) => left - right);
  if (way.type === 'ClusterIP' && way.protocol === 'TCP') {
    if (ports === undefined) return undefined;
    return {
      config: {
        portIdentifiesNode: {
          bootstrapAddress: `localhost:${ports.bootstrap}`,
          advertisedBrokerAddressPattern: bootstrapHost,
          ...(ports.nodes === ports.bootstrap + 1 ? {} : { nodeStartPort: ports.nodes }),
          nodeIdRanges: ranges,
        },
      },
      way: {
        ingress,
        type: 'ClusterIP',
        protocol: 'TCP',
        bootstrapServer: `${bootstrapHost}:${ports.bootstrap}`,
        nodeIds,
        ports,
      },
    };
  }
  if (way.type === 'ClusterIP') {
    const brokers = `${host(nodeServiceName(cluster, ingress, '$(nodeId)'))}:${TLS_CLIENT_PORT}`;
    return {
      config: {
        sniHostIdentifiesNode: {
          bootstrapAddress: `${bootstrapHost}:${SNI_PORT}`,
          advertisedBrokerAddressPattern: brokers,
        },
      },
      way: {
        ingress,
        type: 'ClusterIP',
        protocol: 'TLS',
        bootstrapServer: `${bootstrapHost}:${TLS_CLIENT_PORT}`,
        nodeIds,
      },
    };
  }
  if (way.type === 'Route')
    return nodeIds.length === 0 ? undefined : resolveRouteWay(read, ref, ingress, nodeIds, path);
  const forClients = way.bootstrapAddress.replaceAll('$(virtualClusterName)', cluster);
  return {
    config: {
      sniHostIdentifiesNode: {
        bootstrapAddress: `${way.bootstrapAddress}:${SNI_PORT}`,
        advertisedBrokerAddressPattern: `${way.brokerAddress}:${LOAD_BALANCER_PORT}`,
      },
    },
    way: {
      ingress,
      type: 'LoadBalancer',
      protocol: 'TLS',
      bootstrapServer: `${forClients}:${LOAD_BALANCER_PORT}`,
      nodeIds,
    },
  };
}

function resolveGatewayTls(
  { tls, ingressRef }: ClusterIngress,
  way: IngressWay,
  path: string,
  { read, ref }: Surroundings,
) {
  const failed = (found: Problem) => ({ ...UNRESOLVED, problems: [found], warnings: [], value: undefined });
  if (tls === undefined) {
    return way.protocol === 'TCP'
      ? { ...UNRESOLVED, warnings: [], value: undefined }
      : failed(
          problem(
            'InvalidReferencedResource',
            `${path}.tls`,
            `the ingress ${ingressRef.name} speaks TLS, and no certificate is given; add tls.certificateRef`,
          ),
        );
  }
  if (way.protocol === 'TCP')
    return failed(
      problem(
        'InvalidReferencedResource',
        `${path}.tls`,
        `the ingress ${ingressRef.name} speaks plain TCP; remove tls, or use an ingress with protocol TLS`,
      ),
    );
  const common = { read, namespace: ref.namespace };
  const certificate = resolveCertificate(tls.certificateRef, {
    ...common,
    path: `${path}.tls.certificateRef`,
    mountPath: MOUNT_PATHS.serverCertificate,
  });
  const trust =
    tls.trustAnchorRef === undefined
      ? UNRESOLVED
      : resolveTrust(tls.trustAnchorRef, {
          ...common,
          path: `${path}.tls.trustAnchorRef`,
          mountPath: MOUNT_PATHS.clientTrust,
        });
  const lists = inspectTlsLists(tls, `${path}.tls`);
  const clientAuth = tls.tlsClientAuthentication ?? 'REQUIRED';
  const cipherSuites = allowedDenied(tls.cipherSuites);
  const protocols = allowedDenied(tls.protocols);
  const value: TlsConfig = {
    ...(certificate.value ? { key: certificate.value } : {}),
    ...(trust.value ? { trust: { ...trust.value, trustOptions: { clientAuth } } } : {}),
    ...(cipherSuites ? { cipherSuites } : {}),
    ...(protocols ? { protocols } : {}),
  };
  return {
    value,
    mounts: [...certificate.mounts, ...trust.mounts],
    content: [certificate.content, trust.content],
    problems: [...certificate.problems, ...trust.problems, ...lists.problems],
    warnings: [
      ...(certificate.warnings ?? []),
      ...(trust.warnings ?? []),
      ...lists.warnings,
      ...clientAuthenticationWarnings(tls, `${path}.tls.tlsClientAuthentication`),
    ],
  };
}

/** As upstream has it, nobody is asked for a certificate while there is nobody to trust; here it is told. */
function clientAuthenticationWarnings(
  { trustAnchorRef, tlsClientAuthentication: asked = 'NONE' }: NonNullable<ClusterIngress['tls']>,
  path: string,
): Warning[] {
  if (trustAnchorRef !== undefined || asked === 'NONE') return [];
  const message = `${asked} has no effect without a trust anchor: clients are not asked for certificates; add tls.trustAnchorRef, or say NONE`;
  return [{ reason: 'ClientAuthenticationOff', path, message }];
}

function distinct(children: readonly HashedChild[]): HashedChild[] {
  return [...new Map(children.map((child) => [child.name, child])).values()];
}
