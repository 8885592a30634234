// Rules for Envoy's part: listeners, TLS, timeouts, access logs, clusters.
import type { FullConfiguration } from '../../kinds/configuration-spec.ts';
import { formatProblem, jsonField } from '../access-log-format.ts';
import { envoyPatchProblems } from '../envoy-patches.ts';
import { errorPageProblems } from '../error-pages.ts';
import { outlierProblems } from '../outlier-detection.ts';
import { shown } from '../problem.ts';
import { parseTimeout } from '../timeout.ts';
import { CURVES, unknownCiphers } from '../tls-values.ts';
import type { ValidationInput } from '../validate.ts';
import { duplicates, tlsFiles } from './controller-rules.ts';
import type { Findings } from './findings.ts';

export function envoyRules(input: ValidationInput, findings: Findings): void {
  listener(input, findings);
  sockets(input, findings);
  managed(input, findings);
  logging(input, findings);
  versions(input, findings);
  timeouts(input, findings);
  cluster(input, findings);
  for (const { at, reason, message } of errorPageProblems(input.value.envoy.errorPages ?? []))
    findings.error(`envoy.errorPages${at}`, reason, message);
  for (const { at, reason, message } of envoyPatchProblems(input.value.envoyPatches ?? []))
    findings.leftOut(`envoyPatches${at}`, reason, message);
}

function listener({ value: { envoy } }: ValidationInput, findings: Findings): void {
  const { listener } = envoy;
  const at = (name: string) => `envoy.listener.${name}`;
  findings.oneOf(at('serverHeaderTransformation'), listener.serverHeaderTransformation, [
    'overwrite',
    'append_if_absent',
    'pass_through',
  ]);
  findings.oneOf(at('connectionBalancer'), listener.connectionBalancer, ['', 'exact']);
  for (const name of [
    'maxRequestsPerConnection',
    'perConnectionBufferLimitBytes',
    'maxRequestsPerIOCycle',
    'maxConnectionsPerListener',
    'maxConnectionsToAcceptPerSocketEvent',
  ] as const)
    findings.count(at(name), listener[name]);
  findings.count(at('httpMaxConcurrentStreams'), listener.httpMaxConcurrentStreams, 2_147_483_647);
  findings.range(at('socketOptions.tos'), listener.socketOptions?.tos, 0, 255);
  findings.range(at('socketOptions.trafficClass'), listener.socketOptions?.trafficClass, 0, 255);
  findings.oneOf(at('compression.algorithm'), listener.compression.algorithm, ['gzip', 'brotli', 'zstd', 'disabled']);
  tlsParameters(at('tls'), listener.tls, findings);
}

interface TlsParameters {
  readonly minimumProtocolVersion: string;
  readonly maximumProtocolVersion: string;
  readonly cipherSuites?: readonly string[];
  readonly ecdhCurves?: readonly string[];
}

function tlsParameters(path: string, tls: TlsParameters, findings: Findings): void {
  const { minimumProtocolVersion: min, maximumProtocolVersion: max, cipherSuites = [], ecdhCurves = [] } = tls;
  findings.oneOf(`${path}.minimumProtocolVersion`, min, ['', '1.2', '1.3']);
  findings.oneOf(`${path}.maximumProtocolVersion`, max, ['', '1.2', '1.3']);
  if (min === '1.3' && max === '1.2')
    findings.error(
      `${path}.minimumProtocolVersion`,
      'Conflict',
      'must not be above maximumProtocolVersion ("1.3", "1.2"); lower it',
    );
  for (const [index, entry] of cipherSuites.entries())
    for (const cipher of unknownCiphers(entry))
      findings.error(
        `${path}.cipherSuites[${index}]`,
        'NotSupported',
        `is not a cipher that Envoy has (${shown(cipher)}); remove it`,
      );
  for (const [index, curve] of ecdhCurves.entries())
    if (!CURVES.has(curve))
      findings.error(
        `${path}.ecdhCurves[${index}]`,
        'NotSupported',
        `is not a curve that Envoy has (${shown(curve)}); remove it`,
      );
}

function sockets({ given, value: { envoy } }: ValidationInput, findings: Findings): void {
  findings.reference('envoy.service', given.envoy?.service);
  for (const name of ['http', 'https'] as const) {
    findings.envoyAddress(`envoy.${name}.address`, envoy[name].address);
    findings.port(`envoy.${name}.port`, envoy[name].port);
    findings.notEmpty(`envoy.${name}.accessLog`, envoy[name].accessLog);
  }
  for (const name of ['metrics', 'health'] as const) {
    findings.envoyAddress(`envoy.${name}.address`, envoy[name].address);
    findings.port(`envoy.${name}.port`, envoy[name].port);
  }
  tlsFiles('envoy.metrics.tls', given.envoy?.metrics?.tls, findings);
  const { omEnforcedHealth } = envoy;
  if (omEnforcedHealth !== undefined) {
    findings.envoyAddress('envoy.omEnforcedHealth.address', omEnforcedHealth.address);
    if (omEnforcedHealth.port === undefined)
      findings.error('envoy.omEnforcedHealth.port', 'Required', 'must be given; choose a port');
    else findings.port('envoy.omEnforcedHealth.port', omEnforcedHealth.port);
  }
  http3(envoy, findings);
  findings.reference('envoy.clientCertificate', given.envoy?.clientCertificate);
  findings.range('envoy.network.numTrustedHops', envoy.network.numTrustedHops, 0, 4_294_967_295);
  findings.range('envoy.network.adminPort', envoy.network.adminPort, 0, 65_535);
}

function http3({ http3: settings, listener }: FullConfiguration['envoy'], findings: Findings): void {
  findings.port('envoy.http3.advertisedPort', settings.advertisedPort);
  if (!settings.enabled) return;
  if (listener.useProxyProtocol)
    findings.error(
      'envoy.http3.enabled',
      'Conflict',
      'cannot be combined with envoy.listener.useProxyProtocol, which UDP does not have (true); remove one of them',
    );
  if (listener.tls.maximumProtocolVersion === '1.2')
    findings.error(
      'envoy.http3.enabled',
      'Conflict',
      'needs TLS 1.3, which envoy.listener.tls.maximumProtocolVersion excludes ("1.2"); raise it, or remove one of them',
    );
}

function managed({ given, isManaged = false }: ValidationInput, findings: Findings): void {
  const { managed } = given.envoy ?? {};
  if (managed === undefined) return;
  if (!isManaged) {
    if (managed.networkPublishing !== undefined || managed.nodePlacement !== undefined)
      findings.ignored('envoy.managed', 'is ignored here; it takes effect in a SesameDeployment');
    return;
  }
  publishing('envoy.managed.networkPublishing', managed.networkPublishing, findings);
}

/** How Envoy's Service is published; both places that have it. */
export function publishing(
  path: string,
  value: { type?: string; externalTrafficPolicy?: string; ipFamilyPolicy?: string } | undefined,
  findings: Findings,
): void {
  findings.oneOf(`${path}.type`, value?.type, ['LoadBalancerService', 'NodePortService', 'ClusterIPService']);
  findings.oneOf(`${path}.externalTrafficPolicy`, value?.externalTrafficPolicy, ['Local', 'Cluster']);
  findings.oneOf(`${path}.ipFamilyPolicy`, value?.ipFamilyPolicy, [
    'SingleStack',
    'PreferDualStack',
    'RequireDualStack',
  ]);
}

function logging({ given, value: { envoy } }: ValidationInput, findings: Findings): void {
  const { accessLogFormat, accessLogFormatString, jsonFields, accessLogLevel } = envoy.logging;
  const at = (name: string) => `envoy.logging.${name}`;
  findings.oneOf(at('accessLogFormat'), accessLogFormat, ['envoy', 'json']);
  findings.oneOf(at('accessLogLevel'), accessLogLevel, ['info', 'error', 'critical', 'disabled']);
  if (accessLogFormatString !== '') {
    if (!accessLogFormatString.endsWith('\n'))
      findings.error(
        at('accessLogFormatString'),
        'InvalidValue',
        `must end in a line feed (${shown(accessLogFormatString)}); add \\n`,
      );
    const problem = formatProblem(accessLogFormatString);
    if (problem !== undefined) findings.error(at('accessLogFormatString'), 'InvalidValue', problem);
  }
  for (const [index, entry] of jsonFields.entries()) {
    const field = jsonField(entry);
    if (!field.isOk) findings.error(at(`jsonFields[${index}]`), 'InvalidValue', `${field.problem} (${shown(entry)})`);
  }
  const named = jsonFields.map((entry) => entry.split('=')[0] ?? '');
  duplicates(named, (index, name) =>
    findings.error(at(`jsonFields[${index}]`), 'Duplicate', `is there twice (${shown(name)}); remove it`),
  );
  if (accessLogFormat === 'envoy' && given.envoy?.logging?.jsonFields !== undefined)
    findings.ignored(at('jsonFields'), 'has no effect while accessLogFormat is envoy; set that to json');
  if (accessLogFormat === 'json' && accessLogFormatString !== '')
    findings.ignored(at('accessLogFormatString'), 'has no effect while accessLogFormat is json; set that to envoy');
}

function versions({ value: { envoy } }: ValidationInput, findings: Findings): void {
  for (const [index, version] of envoy.defaultHTTPVersions.entries())
    if (!['http/1.1', 'http/2'].includes(version.toLowerCase()))
      findings.error(
        `envoy.defaultHTTPVersions[${index}]`,
        'NotSupported',
        `must be HTTP/1.1 or HTTP/2 (${shown(version)}); use one of these`,
      );
}

const TIMEOUTS = [
  'requestTimeout',
  'connectionIdleTimeout',
  'streamIdleTimeout',
  'maxConnectionDuration',
  'delayedCloseTimeout',
  'connectionShutdownGracePeriod',
] as const;

function timeouts({ value: { envoy } }: ValidationInput, findings: Findings): void {
  for (const name of TIMEOUTS) {
    const timeout = parseTimeout(envoy.timeouts[name]);
    if (!timeout.isOk)
      findings.error(
        `envoy.timeouts.${name}`,
        timeout.problem === 'is negative' ? 'OutOfRange' : 'InvalidValue',
        `${timeout.problem} (${shown(envoy.timeouts[name])}); write 30s, 5m, infinity, or leave it empty for Envoy’s default`,
      );
  }
  findings.duration('envoy.timeouts.connectTimeout', envoy.timeouts.connectTimeout, 1e-6);
}

function cluster({ value: { envoy } }: ValidationInput, findings: Findings): void {
  const { cluster } = envoy;
  findings.oneOf('envoy.cluster.dnsLookupFamily', cluster.dnsLookupFamily, ['auto', 'v4', 'v6', 'all']);
  findings.count('envoy.cluster.maxRequestsPerConnection', cluster.maxRequestsPerConnection);
  findings.count('envoy.cluster.perConnectionBufferLimitBytes', cluster.perConnectionBufferLimitBytes);
  for (const name of [
    'maxConnections',
    'maxPendingRequests',
    'maxRequests',
    'maxRetries',
    'perHostMaxConnections',
  ] as const)
    findings.count(`envoy.cluster.circuitBreakers.${name}`, cluster.circuitBreakers?.[name]);
  for (const { field, reason, message } of outlierProblems(cluster.outlierDetection ?? {}))
    findings.error(`envoy.cluster.outlierDetection.${field}`, reason, message);
  tlsParameters('envoy.cluster.upstreamTLS', cluster.upstreamTLS, findings);
}
