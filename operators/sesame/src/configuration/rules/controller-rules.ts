// Rules for Sesame's own part: its servers, leader election and its sources.
import { isIP } from 'node:net';
import { parseDuration, validateDns1123Subdomain } from '@capstan/kube/values';
import { shown } from '../problem.ts';
import type { ValidationInput } from '../validate.ts';
import type { Findings } from './findings.ts';

export function controllerRules(input: ValidationInput, findings: Findings): void {
  xdsServer(input, findings);
  ingress(input, findings);
  servers(input, findings);
  gateway(input, findings);
  httpproxy(input, findings);
  leaderElection(input, findings);
}

function xdsServer({ given, value: { xdsServer } }: ValidationInput, findings: Findings): void {
  findings.oneOf('xdsServer.type', xdsServer.type, ['sesame', 'envoy']);
  if (xdsServer.type === 'envoy')
    findings.ignored('xdsServer.type', 'is a synonym of sesame ("envoy"); there is one xDS server, remove the field');
  findings.address('xdsServer.address', xdsServer.address);
  findings.port('xdsServer.port', xdsServer.port);
  if (xdsServer.insecure) return;
  const files = ['caFile', 'certFile', 'keyFile'] as const;
  const missing = files.filter((file) => (given.xdsServer?.tls?.[file] ?? '') === '');
  if (missing.length > 0 && missing.length < files.length)
    for (const file of missing)
      findings.error(
        `xdsServer.tls.${file}`,
        'Incomplete',
        'must be given with the other two files; give all three, or none',
      );
  else if (files.every((file) => xdsServer.tls[file] === ''))
    findings.error(
      'xdsServer.tls',
      'Required',
      'must name caFile, certFile and keyFile; or set xdsServer.insecure to true',
    );
}

function ingress({ value: { ingress } }: ValidationInput, findings: Findings): void {
  const { className, statusAddress } = ingress;
  if (className !== undefined && className !== '')
    for (const name of className.split(',').map((part) => part.trim()))
      if (validateDns1123Subdomain(name).length > 0)
        findings.error(
          'ingress.className',
          'InvalidValue',
          `must be names of ingress classes (${shown(name)}); separate them by commas`,
        );
  if (statusAddress !== undefined && statusAddress !== '')
    for (const address of statusAddress.split(',').map((part) => part.trim()))
      if (isIP(address) === 0 && validateDns1123Subdomain(address).length > 0)
        findings.error(
          'ingress.statusAddress',
          'InvalidValue',
          `must be IP addresses or host names (${shown(address)}); separate them by commas`,
        );
}

function servers({ given, value: { debug, health, metrics } }: ValidationInput, findings: Findings): void {
  findings.address('debug.address', debug.address);
  findings.port('debug.port', debug.port);
  findings.oneOf('debug.logLevel', debug.logLevel, ['info', 'debug']);
  findings.range('debug.kubernetesLogLevel', debug.kubernetesLogLevel, 0, 9);
  findings.address('health.address', health.address);
  findings.port('health.port', health.port);
  findings.address('metrics.address', metrics.address);
  findings.port('metrics.port', metrics.port);
  tlsFiles('metrics.tls', given.metrics?.tls, findings);
}

/** Files of a metrics server: certificate and key together; a CA only with them. */
export function tlsFiles(
  path: string,
  tls: { caFile?: string; certFile?: string; keyFile?: string } | undefined,
  findings: Findings,
): void {
  const has = (file: string | undefined) => file !== undefined && file !== '';
  if (tls === undefined) return;
  if (has(tls.certFile) !== has(tls.keyFile)) {
    const missing = has(tls.certFile) ? 'keyFile' : 'certFile';
    const present = has(tls.certFile) ? 'certFile' : 'keyFile';
    findings.error(`${path}.${missing}`, 'Incomplete', `must be given with ${present}; give both, or neither`);
  }
  if (has(tls.caFile) && !has(tls.certFile) && !has(tls.keyFile))
    findings.error(`${path}.caFile`, 'Incomplete', 'needs certFile and keyFile; give all three');
}

function gateway({ given, value: { gateway } }: ValidationInput, findings: Findings): void {
  const { controllerName, gatewayRef } = gateway;
  const hasRef = gatewayRef !== undefined && (gatewayRef.name !== undefined || gatewayRef.namespace !== undefined);
  if (controllerName !== undefined && controllerName !== '') {
    const [domain = '', ...path] = controllerName.split('/');
    if (path.length === 0 || path.some((part) => part === '') || validateDns1123Subdomain(domain).length > 0)
      findings.error(
        'gateway.controllerName',
        'InvalidValue',
        `must be domain/path (${shown(controllerName)}); correct it`,
      );
    if (hasRef)
      findings.error('gateway.gatewayRef', 'Conflict', 'cannot be given with controllerName; remove one of them');
  }
  const { name = '', namespace = '' } = given.gateway?.gatewayRef ?? {};
  if (given.gateway?.gatewayRef !== undefined && name === '' && namespace === '')
    findings.error('gateway.gatewayRef', 'Required', 'must have name and namespace; give both, or remove it');
  findings.reference('gateway.gatewayRef', given.gateway?.gatewayRef);
}

function httpproxy({ given, value: { httpproxy } }: ValidationInput, findings: Findings): void {
  const { rootNamespaces } = httpproxy;
  if (rootNamespaces !== undefined) {
    for (const [index, name] of rootNamespaces.entries())
      findings.namespaceName(`httpproxy.rootNamespaces[${index}]`, name);
    duplicates(rootNamespaces, (index, name) =>
      findings.error(`httpproxy.rootNamespaces[${index}]`, 'Duplicate', `is there twice (${shown(name)}); remove it`),
    );
  }
  findings.reference('httpproxy.fallbackCertificate', given.httpproxy?.fallbackCertificate);
}

function leaderElection({ given, value: { leaderElection } }: ValidationInput, findings: Findings): void {
  findings.reference('leaderElection.configmap', given.leaderElection?.configmap);
  const durations = ['leaseDuration', 'renewDeadline', 'retryPeriod'] as const;
  const before = findings.problems.length;
  for (const name of durations) findings.duration(`leaderElection.${name}`, leaderElection[name], 1);
  if (findings.problems.length > before) return;
  const [lease, renew, retry] = durations.map((name) => parseDuration(leaderElection[name]));
  if ((lease ?? 0) <= (renew ?? 0))
    findings.error(
      'leaderElection.renewDeadline',
      'Conflict',
      `must be less than leaseDuration (${leaderElection.renewDeadline}, ${leaderElection.leaseDuration}); lower it`,
    );
  if ((renew ?? 0) <= 1.2 * (retry ?? 0))
    findings.error(
      'leaderElection.retryPeriod',
      'Conflict',
      `must be less than renewDeadline, by a fifth at least (${leaderElection.retryPeriod}, ${leaderElection.renewDeadline}); lower it`,
    );
}

export function duplicates<T>(values: readonly T[], report: (index: number, value: T) => void): void {
  const seen = new Set<T>();
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) report(index, value);
    seen.add(value);
  }
}
