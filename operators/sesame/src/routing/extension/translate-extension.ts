// ExtensionService: services that Envoy itself calls, as one cluster with its endpoints.
import { CONFIG_SOURCE, type Envoy } from '../../envoy/index.ts';
import type { ExtensionService } from '../../kinds/extension-service.ts';
import { createResource, resourceKey } from '../../xds/index.ts';
import { Piece } from '../assembly/piece.ts';
import type { Lookup } from '../lookup.ts';
import { extensionClusterName } from '../policy/authorization.ts';
import { loadBalancing } from '../policy/load-balancing.ts';
import { type Findings, ProblemLog, reporterOf } from '../problems.ts';
import { upstreamValidation } from '../proxy/proxy-services.ts';
import type { RoutingSettings } from '../settings.ts';
import { envoyTimeout } from '../timeouts.ts';
import { clientCertificate } from '../upstream/client-certificate.ts';
import type { SliceView } from '../upstream/endpoints.ts';
import { circuitBreakers, findPort, protocolOptions, transport, type UpstreamProtocol } from '../upstream/upstream.ts';

export interface TranslatedExtension {
  readonly piece: Piece;
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
  const localities: Envoy.LocalityLbEndpoints[] = [];
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
      return target === undefined
        ? []
        : addresses.map((address) => ({ endpoint: { address: { socket_address: { address, port_value: target } } } }));
    });
    localities.push({
      locality: { sub_zone: String(index) },
      lb_endpoints: endpoints,
      load_balancing_weight: isEven ? 1 : Math.max(weights[index] ?? 0, 1),
    });
  }
  const findings = log.visit(ref);
  if (findings.errors.length > 0 || validation === 'broken') return { piece: new Piece({}), findings };
  const breakers = circuitBreakers(undefined, spec.circuitBreakerPolicy ?? settings.envoy.cluster.circuitBreakers);
  const strategy = spec.loadBalancerPolicy?.strategy;
  const isHashed = strategy === 'Cookie' || strategy === 'RequestHash';
  if (isHashed)
    reporter.warn(
      'SpecError',
      'IgnoredField',
      `spec.loadBalancerPolicy.strategy: ${strategy} has no effect on an ExtensionService, and RoundRobin is used; use RoundRobin, WeightedLeastRequest or Random`,
    );
  const { lbPolicy } = loadBalancing(isHashed ? undefined : spec.loadBalancerPolicy, reporter, 'spec');
  const cluster = createResource({
    type: 'cds',
    name,
    value: {
      name,
      alt_stat_name: name.replaceAll('/', '_'),
      type: 'EDS',
      eds_cluster_config: { eds_config: CONFIG_SOURCE, service_name: name },
      connect_timeout: '2s',
      lb_policy: lbPolicy,
      common_lb_config: { healthy_panic_threshold: { value: 0 }, locality_weighted_lb_config: {} },
      circuit_breakers: breakers,
      ...protocolOptions({ protocol, idleTimeout: idle.isOk ? idle.value : undefined }, settings),
      ...transport(
        {
          protocol,
          validation: validation ?? undefined,
          clientCertificate: certificate?.name,
          sni: validation?.subjectNames[0] ?? '',
        },
        settings,
      ),
    },
    requires: [resourceKey('eds', name)],
    origins: [`ExtensionService ${namespace}/${ref.name}`],
  });
  const [refused] = cluster.violations();
  if (refused) {
    reporter.error(
      'SpecError',
      'RefusedByEnvoy',
      `spec: Envoy would refuse its cluster (${refused.path} ${refused.problem}); correct the value that it comes from`,
    );
    return { piece: new Piece({}), findings };
  }
  const assignment = createResource({
    type: 'eds',
    name,
    value: { cluster_name: name, endpoints: localities },
    origins: cluster.origins,
  });
  return {
    piece: new Piece({ resources: [cluster, ...(certificate ? [certificate] : [])], endpoints: [assignment] }),
    findings,
  };
}
