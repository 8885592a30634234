// ExtensionService: services that Envoy itself calls, as one cluster with its endpoints.
import type { ExtensionService } from '../../kinds/extension-service.ts';
import type { Cluster, UpstreamProtocol } from '../../model/cluster.ts';
import type { EndpointGroup } from '../../model/endpoints.ts';
import { type Findings, ProblemLog, reporterOf } from '../../result.ts';
import { type ResourceKey, resourceKey } from '../../xds/index.ts';
import { Piece } from '../assembly/piece.ts';
import { clusterKey, clusterResource, clusterViolations } from '../envoy/cluster-message.ts';
import { endpointsResource } from '../envoy/endpoints-message.ts';
import { secretResource } from '../envoy/secret-message.ts';
import type { Lookup } from '../lookup.ts';
import { extensionClusterName } from '../policy/authorization.ts';
import { loadBalancing } from '../policy/load-balancing.ts';
import { upstreamValidation } from '../proxy/proxy-services.ts';
import type { RoutingSettings } from '../settings.ts';
import { envoyTimeout } from '../timeouts.ts';
import { clientCertificate } from '../upstream/client-certificate.ts';
import type { SliceView } from '../upstream/endpoints.ts';
import { circuitBreakers, findPort, upstreamTls } from '../upstream/upstream.ts';

export interface TranslatedExtension {
  readonly piece: Piece;
  /** The values that the piece is translated from, by the keys of its resources. */
  readonly model: Readonly<Record<ResourceKey, object>>;
  readonly findings: Findings;
}

export function extensionPiece(
  extension: ExtensionService,
  lookup: Lookup,
  slicesOf: (service: string) => readonly SliceView[],
  settings: RoutingSettings,
): TranslatedExtension {
  const namespace = extension.metadata.namespace ?? '';
  const ref = { namespace, name: extension.metadata.name ?? '' };
  const log = new ProblemLog();
  const reporter = reporterOf(log, ref);
  const { spec } = extension;
  const name = extensionClusterName(namespace, ref.name);
  const protocol: UpstreamProtocol = spec.protocol === 'h2c' ? 'h2c' : spec.protocol === 'http/1.1' ? '' : 'h2';
  if (spec.validation && protocol !== 'h2')
    reporter.error(
      'SpecError',
      'InconsistentProtocol',
      `spec.validation: there is nothing to verify over ${spec.protocol ?? ''}; use the protocol h2, or remove it`,
    );
  if (spec.protocol !== undefined && !['', 'h2', 'h2c', 'http/1.1'].includes(spec.protocol))
    reporter.error(
      'SpecError',
      'UnsupportedProtocol',
      `spec.protocol: ${JSON.stringify(spec.protocol)} is not known; use h2, h2c or http/1.1`,
    );
  const response = envoyTimeout(spec.timeoutPolicy?.response);
  if (!response.isOk)
    reporter.error('SpecError', 'TimeoutPolicyNotValid', `spec.timeoutPolicy.response: ${response.problem}`);
  if (spec.timeoutPolicy?.idle)
    reporter.warn(
      'SpecError',
      'IgnoredField',
      'spec.timeoutPolicy.idle: it has no effect on an ExtensionService; remove it',
    );
  const idle = envoyTimeout(spec.timeoutPolicy?.idleConnection);
  if (!idle.isOk)
    reporter.error('SpecError', 'TimeoutPolicyNotValid', `spec.timeoutPolicy.idleConnection: ${idle.problem}`);
  const isTls = protocol === 'h2';
  const certificate = isTls ? clientCertificate(settings, lookup, reporter) : undefined;
  const validation =
    spec.validation && protocol === 'h2'
      ? upstreamValidation(spec.validation, namespace, protocol, lookup, reporter, 'spec')
      : undefined;
  const weights = spec.services.map(({ weight }) => weight ?? 0);
  const isEven = weights.every((weight) => weight === 0);
  const groups: EndpointGroup[] = [];
  for (const [index, { name: service, port }] of spec.services.entries()) {
    const found = lookup.service(namespace, service);
    const servicePort = found && findPort(found, port);
    if (!found || !servicePort) {
      reporter.error(
        'ServiceError',
        'ServiceUnresolvedReference',
        found
          ? `spec.services[${index}].port: Service ${namespace}/${service} has no TCP port ${port}; use one that it has`
          : `spec.services[${index}].name: Service ${namespace}/${service} does not exist; create it or correct the name`,
      );
      continue;
    }
    if (found.externalName) {
      reporter.error(
        'ServiceError',
        'UnsupportedServiceType',
        `spec.services[${index}].name: Service ${namespace}/${service} is of type ExternalName, which Envoy cannot call here; use another Service`,
      );
      continue;
    }
    const endpoints = slicesOf(service).flatMap(({ ports, addresses }) => {
      const target = ports.find((each) => each.name === servicePort.name && each.protocol === 'TCP')?.port;
      return target === undefined ? [] : addresses.map((address) => ({ address, port: target }));
    });
    groups.push({ zone: String(index), weight: isEven ? 1 : Math.max(weights[index] ?? 0, 1), endpoints });
  }
  const findings = log.visit(ref);
  if (findings.errors.length > 0 || (validation && !validation.isOk))
    return { piece: new Piece({}), model: {}, findings };
  const breakers = circuitBreakers(undefined, spec.circuitBreakerPolicy ?? settings.envoy.cluster.circuitBreakers);
  const strategy = spec.loadBalancerPolicy?.strategy;
  const isHashed = strategy === 'Cookie' || strategy === 'RequestHash';
  if (isHashed)
    reporter.warn(
      'SpecError',
      'IgnoredField',
      `spec.loadBalancerPolicy.strategy: ${strategy} has no effect on an ExtensionService, and RoundRobin is used; use RoundRobin, WeightedLeastRequest or Random`,
    );
  const { strategy: used } = loadBalancing(isHashed ? undefined : spec.loadBalancerPolicy, reporter, 'spec');
  const cluster: Cluster = {
    name,
    statName: name.replaceAll('/', '_'),
    service: undefined,
    endpoints: { kind: 'service', name },
    connectTimeout: '2s',
    balancing: { strategy: used, isWeightedByService: true },
    health: { panicPercent: 0, check: undefined },
    circuitBreakers: breakers,
    bufferLimitBytes: undefined,
    protocol,
    idleTimeout: idle.isOk ? idle.value : undefined,
    maxRequestsPerConnection: settings.envoy.cluster.maxRequestsPerConnection,
    tls: upstreamTls(
      {
        protocol,
        validation: validation?.value,
        clientCertificate: certificate?.name,
        sni: validation?.value?.subjectNames[0] ?? '',
      },
      settings,
    ),
    origin: { kind: 'ExtensionService', ...ref, path: 'spec' },
  };
  const [refused] = clusterViolations(cluster);
  if (refused) {
    reporter.error(
      'SpecError',
      'RefusedByEnvoy',
      `spec: Envoy would refuse its cluster (${refused.path} ${refused.problem}); correct the value that it comes from`,
    );
    return { piece: new Piece({}), model: {}, findings };
  }
  return {
    piece: new Piece({
      resources: [clusterResource(cluster), ...(certificate ? [secretResource(certificate)] : [])],
      endpoints: [endpointsResource({ name, groups, origin: cluster.origin })],
    }),
    model: { [clusterKey(cluster)]: cluster, [resourceKey('eds', name)]: groups },
    findings,
  };
}
