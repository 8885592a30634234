// The flags of `sesame serve`: which field each one sets, and which are for the start only. A flag that was given beats the resource
// and the file; one that was not has no value, whatever its default.
import { validateDns1123Label, validateDns1123Subdomain } from '@capstan/kube/values';
import { accept, type Result, refuse } from '../result.ts';
import type { FlagValue, Origin } from './effective.ts';

export interface ServeFlag {
  readonly type: 'string' | 'integer' | 'boolean' | 'list';
  /** The fields that it sets; none for a flag of the start. */
  readonly paths: readonly string[];
  /** The variable that stands in for it. */
  readonly variable?: string;
  readonly aliases?: readonly string[];
  readonly short?: string;
  readonly value?: string;
  readonly help: string;
  /** May be given several times. */
  readonly isRepeated?: boolean;
  /** For a flag of the start: returns the problem of a value, or of one in a list. */
  readonly check?: (value: string) => string | undefined;
}

/** The features that --disable-feature can name: the resources of kinds. */
export const FEATURES = ['extensionservices', 'tlsroutes', 'grpcroutes', 'tcproutes', 'backendtlspolicies'] as const;
export type Feature = (typeof FEATURES)[number];

const objectName = (value: string) =>
  validateDns1123Subdomain(value).length > 0 ? `must be the name of an object (${JSON.stringify(value)})` : undefined;
const namespaceName = (value: string) =>
  validateDns1123Label(value).length > 0 ? `must be the name of a namespace (${JSON.stringify(value)})` : undefined;
const leaseName = (value: string) => {
  const [namespace = '', name = '', ...more] = value.split('/');
  const isOne = validateDns1123Label(namespace).length === 0 && validateDns1123Subdomain(name).length === 0;
  return isOne && more.length === 0 ? undefined : `must be NAMESPACE/NAME (${JSON.stringify(value)})`;
};
const positive = (value: string) => (Number(value) > 0 ? undefined : `must be a number above zero ("${value}")`);

const text = (path: string, help: string, more: Partial<ServeFlag> = {}): ServeFlag => ({
  type: 'string',
  paths: [path],
  help,
  ...more,
});
const port = (path: string, help: string): ServeFlag => ({ type: 'integer', paths: [path], help, value: 'PORT' });
const truth = (path: string, help: string, more: Partial<ServeFlag> = {}): ServeFlag => ({
  type: 'boolean',
  paths: [path],
  help,
  ...more,
});
const start = (help: string, more: Partial<ServeFlag> = {}): ServeFlag => ({
  type: 'string',
  paths: [],
  help,
  ...more,
});

/** Every flag, in the order of the help. */
export const SERVE_FLAGS: Readonly<Record<string, ServeFlag>> = {
  'sesame-config': start('The SesameConfiguration in the namespace of Sesame; default sesame.', {
    value: 'NAME',
    check: objectName,
    aliases: ['Sesame-config', 'sesame-config-name', 'contour-config-name', 'contour-config'],
  }),
  'config-path': start('A configuration file instead of the resource (deprecated).', { short: 'c', value: 'FILE' }),
  migrate: start('With -c: creates the SesameConfiguration from the file if there is none.', { type: 'boolean' }),
  'invalid-config-policy': start('stop (default) or keep-last-good, while the configuration is invalid.', {
    value: 'POLICY',
  }),
  'config-error-mode': start('wait (default), or exit when the configuration is invalid.', { value: 'MODE' }),
  'config-change-mode': start('apply (default), or restart: ends the process when the configuration changes.', {
    value: 'MODE',
  }),
  namespace: start('The namespace of Sesame; default $SESAME_NAMESPACE, the pod’s, or projectsesame.', {
    value: 'NAME',
    check: namespaceName,
  }),
  incluster: start('Uses the ServiceAccount of the pod.', { type: 'boolean' }),
  kubeconfig: start('The kubeconfig.', { value: 'FILE' }),
  context: start('The context in it.', { value: 'NAME' }),
  'kubernetes-client-qps': start('Accepted; the API client does not limit its requests.', {
    value: 'NUMBER',
    check: positive,
  }),
  'kubernetes-client-burst': start('Accepted; the API client does not limit its requests.', {
    value: 'NUMBER',
    check: positive,
  }),
  'watch-namespaces': start('Namespaces that are watched, separated by commas; all by default.', {
    type: 'list',
    value: 'NAMES',
    check: namespaceName,
  }),
  'contour-compat': start(
    'Serves objects of projectcontour.io and the class contour too. Their statuses are left to Contour while it holds its Lease.',
    { type: 'boolean' },
  ),
  'contour-lease': start('With --contour-compat, the Lease of Contour; default projectcontour/leader-elect.', {
    value: 'NAMESPACE/NAME',
    check: leaseName,
  }),
  'disable-feature': start(`A kind that is not watched and not served (repeatable): ${FEATURES.join(', ')}.`, {
    value: 'NAME',
    isRepeated: true,
    check: (value) =>
      (FEATURES as readonly string[]).includes(value)
        ? undefined
        : `must be one of ${FEATURES.join(', ')} ("${value}")`,
  }),
  'snapshot-file': start(
    'A file of a private folder, best in memory: the last snapshot is kept there, and served at once after a restart.',
    { value: 'PATH' },
  ),
  'log-format': start('text (default) or json.', { value: 'FORMAT' }),
  'xds-address': text('xdsServer.address', 'Address of the xDS server.', { value: 'ADDRESS' }),
  'xds-port': port('xdsServer.port', 'Port of the xDS server.'),
  'sesame-cafile': text('xdsServer.tls.caFile', 'CA bundle of the xDS server.', {
    value: 'FILE',
    variable: 'SESAME_CAFILE',
    aliases: ['contour-cafile'],
  }),
  'sesame-cert-file': text('xdsServer.tls.certFile', 'Certificate of the xDS server.', {
    value: 'FILE',
    variable: 'SESAME_CERT_FILE',
    aliases: ['contour-cert-file'],
  }),
  'sesame-key-file': text('xdsServer.tls.keyFile', 'Key of the xDS server.', {
    value: 'FILE',
    variable: 'SESAME_KEY_FILE',
    aliases: ['contour-key-file'],
  }),
  insecure: truth('xdsServer.insecure', 'Serves xDS without TLS.'),
  'ingress-class-name': text('ingress.className', 'Ingress classes, separated by commas.', { value: 'NAMES' }),
  'ingress-status-address': text('ingress.statusAddress', 'Address for the status of objects.', { value: 'ADDRESS' }),
  debug: truth('debug.logLevel', 'Logs more.', { short: 'd' }),
  'debug-http-address': text('debug.address', 'Address of the debug server.', { value: 'ADDRESS' }),
  'debug-http-port': port('debug.port', 'Port of the debug server.'),
  'kubernetes-debug': {
    type: 'integer',
    paths: ['debug.kubernetesLogLevel'],
    help: 'Verbosity of the API client.',
    value: 'LEVEL',
  },
  'health-address': text('health.address', 'Address of the health server.', { value: 'ADDRESS' }),
  'health-port': port('health.port', 'Port of the health server.'),
  'http-address': text('metrics.address', 'Address of the metrics server.', { value: 'ADDRESS' }),
  'http-port': port('metrics.port', 'Port of the metrics server.'),
  'envoy-service-http-address': text('envoy.http.address', 'Address of the HTTP listener.', { value: 'ADDRESS' }),
  'envoy-service-http-port': port('envoy.http.port', 'Port of the HTTP listener.'),
  'envoy-service-https-address': text('envoy.https.address', 'Address of the HTTPS listener.', { value: 'ADDRESS' }),
  'envoy-service-https-port': port('envoy.https.port', 'Port of the HTTPS listener.'),
  'envoy-http-access-log': text('envoy.http.accessLog', 'Access log of the HTTP listener.', { value: 'FILE' }),
  'envoy-https-access-log': text('envoy.https.accessLog', 'Access log of the HTTPS listener.', { value: 'FILE' }),
  'envoy-service-name': text('envoy.service.name', 'Name of Envoy’s Service.', { value: 'NAME' }),
  'envoy-service-namespace': text('envoy.service.namespace', 'Namespace of Envoy’s Service.', { value: 'NAME' }),
  'stats-address': {
    type: 'string',
    paths: ['envoy.metrics.address', 'envoy.health.address'],
    help: 'Address of Envoy’s statistics and health.',
    value: 'ADDRESS',
  },
  'stats-port': {
    type: 'integer',
    paths: ['envoy.metrics.port', 'envoy.health.port'],
    help: 'Port of Envoy’s statistics and health.',
    value: 'PORT',
  },
  'use-proxy-protocol': truth('envoy.listener.useProxyProtocol', 'Expects the PROXY protocol.'),
  'accesslog-format': text('envoy.logging.accessLogFormat', 'envoy or json.', { value: 'FORMAT' }),
  'root-namespaces': {
    type: 'list',
    paths: ['httpproxy.rootNamespaces'],
    help: 'Namespaces of root HTTPProxies, separated by commas.',
    value: 'NAMES',
  },
  'disable-leader-election': truth('leaderElection.disableLeaderElection', 'Every replica writes status.'),
  'leader-election-resource-name': text('leaderElection.configmap.name', 'Name of the Lease.', { value: 'NAME' }),
  'leader-election-resource-namespace': text('leaderElection.configmap.namespace', 'Namespace of the Lease.', {
    value: 'NAME',
  }),
  'leader-election-lease-duration': text('leaderElection.leaseDuration', 'How long a lease holds.', {
    value: 'DURATION',
  }),
  'leader-election-renew-deadline': text('leaderElection.renewDeadline', 'How long renewal is tried.', {
    value: 'DURATION',
  }),
  'leader-election-retry-period': text('leaderElection.retryPeriod', 'Between attempts.', { value: 'DURATION' }),
};

export interface GivenFlag {
  /** Its own name, whichever alias was written. */
  readonly name: string;
  readonly value: string;
  /** As it was written: `--Sesame-config`. */
  readonly written: string;
}

export type FlagFault = { readonly flag: string; readonly problem: string };

export interface ParsedServeFlags {
  /** Values of fields. */
  readonly fields: ReadonlyMap<string, FlagValue>;
  /** Flags of the start by name; of a repeatable one all values, separated by commas. */
  readonly start: ReadonlyMap<string, string>;
  readonly given: readonly GivenFlag[];
  readonly faults: readonly FlagFault[];
}

/** Parses the arguments after `serve`, and distinguishes given flags from absent ones. */
export function parseServeFlags(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): ParsedServeFlags {
  const given: GivenFlag[] = [];
  const faults: FlagFault[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? '';
    const [, dashes = '', written = '', inline] = /^(--?)([^=]+)(?:=(.*))?$/s.exec(argument) ?? [];
    const name = flagNamed(dashes, written);
    if (name === undefined) {
      faults.push({
        flag: argument.split('=')[0] ?? argument,
        problem: dashes === '' ? 'is not expected' : 'is not a flag of sesame serve',
      });
      continue;
    }
    const isBoolean = SERVE_FLAGS[name]?.type === 'boolean';
    const value = inline ?? (isBoolean ? 'true' : argv[++index]);
    if (value === undefined) faults.push({ flag: dashes + written, problem: 'needs a value' });
    else given.push({ name, value, written: dashes + written });
  }
  const fields = new Map<string, FlagValue>();
  const startFlags = new Map<string, string>();
  const take = (name: string, value: string, origin: Origin, written: string) => {
    const flag = SERVE_FLAGS[name];
    if (flag === undefined) return;
    if (flag.paths.length === 0) {
      const before = flag.isRepeated === true ? startFlags.get(name) : undefined;
      startFlags.set(name, before === undefined ? value : `${before},${value}`);
    }
    const parsed = flagValue(name, flag, value);
    const problem = parsed.isOk ? startProblem(flag, parsed.value) : parsed.problem;
    if (problem !== undefined) faults.push({ flag: written, problem });
    else if (parsed.isOk) for (const path of flag.paths) fields.set(path, { value: parsed.value, origin });
  };
  for (const [name, { variable }] of Object.entries(SERVE_FLAGS))
    for (const known of variable === undefined ? [] : [variable, variable.replace('SESAME', 'CONTOUR')]) {
      const value = env[known];
      if (value === undefined || value === '') continue;
      take(name, value, { from: 'environment', variable: known }, known);
      break;
    }
  for (const { name, value, written } of given) take(name, value, { from: 'flag', flag: written }, written);
  return { fields, start: startFlags, given, faults };
}

function flagNamed(dashes: string, written: string): string | undefined {
  if (dashes === '-') return Object.entries(SERVE_FLAGS).find(([, { short }]) => short === written)?.[0];
  if (dashes !== '--') return undefined;
  if (Object.hasOwn(SERVE_FLAGS, written)) return written;
  return Object.entries(SERVE_FLAGS).find(([, { aliases }]) => aliases?.includes(written))?.[0];
}

function startProblem({ check }: ServeFlag, value: unknown): string | undefined {
  const values = Array.isArray(value) ? (value as string[]) : [String(value)];
  return check && values.map(check).find((problem) => problem !== undefined);
}

function flagValue(name: string, { type }: ServeFlag, text: string): Result<unknown> {
  switch (type) {
    case 'boolean': {
      if (text !== 'true' && text !== 'false') return refuse(`must be true or false ("${text}")`);
      if (name === 'debug') return accept(text === 'true' ? 'debug' : 'info');
      return accept(text === 'true');
    }
    case 'integer':
      return /^-?[0-9]+$/.test(text) ? accept(Number(text)) : refuse(`must be a whole number ("${text}")`);
    case 'list':
      return accept(
        text
          .split(',')
          .map((part) => part.trim())
          .filter((part) => part !== ''),
      );
    case 'string':
      return accept(text);
  }
}
