// Resolves the ingresses that a virtual cluster names to addresses inside the proxy and for clients, with the certificates that clients
// see.
import type { Reader } from '@capstan/reconcile';
import type { GatewayConfig, TlsConfig } from '../configuration/schema.ts';
import { SNI_PORT } from '../configuration/schema.ts';
import { type ClusterIngress, MAX_CLUSTER_AND_INGRESS } from '../kinds/index.ts';
import type { Mount } from '../resolution/mounts.ts';
import { MOUNT_PATHS } from '../resolution/mounts.ts';
import { named, notFound, type Problem, problem, type Warning } from '../resolution/problem.ts';
import { allowedDenied, resolveCertificate, resolveTrust, UNRESOLVED } from '../tls/resolve-tls.ts';
import { inspectTlsLists } from '../tls/tls-lists.ts';
import {
  bootstrapServiceName,
  type ClusterWay,
  LOAD_BALANCER_PORT,
  nodeServiceName,
  TLS_CLIENT_PORT,
} from './cluster-fragment.ts';
import { type IngressWay, ingressNode, ingressPartOf } from './ingress-node.ts';
import { keyIn, type NamespacedRef } from './keys.ts';
import { clusterNetwork } from './network-plan.ts';
import { resolveRouteWay } from './route-way.ts';
import { type NamedRange, nodeIdRangesOf, serviceNode } from './service-node.ts';

interface Surroundings {
  readonly ref: NamespacedRef;
  readonly proxy: string;
  readonly read: Reader;
  readonly serviceName: string;
  readonly problems: Problem[];
  readonly warnings: Warning[];
  readonly domain: string;
}

/** One gateway of a cluster, as in the proxy's configuration. */
export interface Gateway {
  /** Absent while its addresses are not known. */
  readonly config: GatewayConfig | undefined;
  readonly way: ClusterWay;
  readonly hash: string;
  readonly mounts: readonly Mount[];
  readonly content: readonly unknown[];
}

/** Resolves one gateway for each ingress. It leaves out a faulty one and adds its faults to the problems. */
export function resolveGateways(ingresses: readonly ClusterIngress[], around: Surroundings): Gateway[] {
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
          `${named('KafkaProxyIngress', at)} is not valid: ${fault.path}: ${fault.message}`,
        ),
      );
    if (node.way.type === 'Route' && routed !== undefined)
      return add(
        problem(
          'Invalid',
          `${path}.ingressRef`,
          `the ingresses ${routed} and ${name} would create the same Routes; a cluster can have one ingress by Routes`,
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

/** Returns the addresses inside the proxy and for clients, or undefined while ports wait for another problem to be fixed. */
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
            `the ingress ${ingressRef.name} uses TLS, and no certificate is given; add tls.certificateRef`,
          ),
        );
  }
  if (way.protocol === 'TCP')
    return failed(
      problem(
        'InvalidReferencedResource',
        `${path}.tls`,
        `the ingress ${ingressRef.name} uses plain TCP; remove tls, or use an ingress with protocol TLS`,
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

/** As upstream, clients need no certificate while there is no trust anchor. Here this gives a warning. */
function clientAuthenticationWarnings(
  { trustAnchorRef, tlsClientAuthentication: asked = 'NONE' }: NonNullable<ClusterIngress['tls']>,
  path: string,
): Warning[] {
  if (trustAnchorRef !== undefined || asked === 'NONE') return [];
  const message = `${asked} has no effect without a trust anchor: clients are not asked for certificates; add tls.trustAnchorRef, or set NONE`;
  return [{ reason: 'ClientAuthenticationOff', path, message }];
}
