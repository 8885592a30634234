// Verification of JSON web tokens: providers of a host, and the requirement of a route.
import { hexHash } from '../../envoy/index.ts';
import type { ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import type { Cluster, UpstreamValidation } from '../../model/cluster.ts';
import type { TokenProvider, TokenVerification } from '../../model/listener.ts';
import type { Origin } from '../../model/origin.ts';
import type { Reporter } from '../../result.ts';
import { isDelegated, type Lookup, secretReference } from '../lookup.ts';
import type { RoutingSettings } from '../settings.ts';
import { durationMs, seconds } from '../timeouts.ts';
import { CA_CERT, caSecretProblem, NO_SECRET } from '../upstream/tls-secret.ts';
import { dnsFamily, upstreamTls } from '../upstream/upstream.ts';

type Provider = NonNullable<ProxyVirtualHost['jwtProviders']>[number];

export interface HostTokens {
  readonly verification: TokenVerification;
  readonly clusters: readonly Cluster[];
  readonly names: ReadonlySet<string>;
  readonly defaultProvider: string | undefined;
}

/** Undefined after an error was reported. */
export function hostTokens(
  providers: readonly Provider[],
  owner: Omit<Origin, 'path'>,
  lookup: Lookup,
  settings: RoutingSettings,
  reporter: Reporter,
): HostTokens | undefined {
  const names = new Set<string>();
  const clusters: Cluster[] = [];
  const verified: TokenProvider[] = [];
  let defaultProvider: string | undefined;
  const fail = (reason: string, message: string): undefined => {
    reporter.error('JWTVerificationError', reason, message);
    return undefined;
  };
  for (const [index, provider] of providers.entries()) {
    const { name } = provider;
    const at = `spec.virtualhost.jwtProviders[${index}]`;
    if (names.has(name))
      return fail(
        'DuplicateProviderName',
        `${at}.name: ${JSON.stringify(name)} is another provider's; rename one of them`,
      );
    names.add(name);
    if (provider.default === true) {
      if (defaultProvider !== undefined)
        return fail(
          'MultipleDefaultProvidersSpecified',
          `${at}.default: ${JSON.stringify(defaultProvider)} is the default already; keep one of them`,
        );
      defaultProvider = name;
    }
    if (provider.remoteJWKS && provider.localJWKS)
      return fail('JWKSSourceConflict', `${at}: it has both remoteJWKS and localJWKS; keep one of them`);
    const keys = provider.remoteJWKS
      ? remoteKeys(provider.remoteJWKS, owner, lookup, settings, fail, `${at}.remoteJWKS`)
      : provider.localJWKS
        ? localKeys(provider.localJWKS, owner.namespace, lookup, fail, `${at}.localJWKS`)
        : fail('JWKSSourceMissing', `${at}: it has neither remoteJWKS nor localJWKS; set one of them`);
    if (!keys) return undefined;
    if (keys.kind === 'remote') clusters.push(keys.cluster);
    const { issuer, audiences, forwardJWT: forwardsToken = false } = provider;
    verified.push({ name, issuer, audiences, forwardsToken, keys });
  }
  return { verification: { providers: verified }, clusters, names, defaultProvider };
}

type Fail = (reason: string, message: string) => undefined;
type Keys = TokenProvider['keys'] | undefined;

function localKeys(
  spec: NonNullable<Provider['localJWKS']>,
  namespace: string,
  lookup: Lookup,
  fail: Fail,
  at: string,
): Keys {
  const ref = secretReference(spec.secretName, namespace);
  const where = `${ref.namespace}/${ref.name}`;
  if (!isDelegated(lookup, ref, namespace))
    return fail(
      'LocalJWKSInvalid',
      `${at}.secretName: Secret ${where} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
    );
  const secret = lookup.secret(ref.namespace, ref.name);
  if (!secret) return fail('LocalJWKSInvalid', `${at}.secretName: Secret ${where} cannot be used: ${NO_SECRET}`);
  const key = spec.key ?? 'jwks';
  const content = secret.data[key];
  if (!content) return fail('LocalJWKSInvalid', `${at}.key: Secret ${where} has no key ${JSON.stringify(key)}; add it`);
  try {
    const parsed: unknown = JSON.parse(content.toString('utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('keys' in parsed) || !Array.isArray(parsed.keys))
      throw new Error('no keys');
  } catch {
    return fail(
      'LocalJWKSInvalid',
      `${at}.key: ${JSON.stringify(key)} of Secret ${where} is not a JSON web key set; put one there, {"keys": [...]}`,
    );
  }
  return { kind: 'inline', keySet: content.toString('utf8') };
}

function remoteKeys(
  spec: NonNullable<Provider['remoteJWKS']>,
  owner: Omit<Origin, 'path'>,
  lookup: Lookup,
  settings: RoutingSettings,
  fail: Fail,
  at: string,
): Keys {
  const { namespace } = owner;
  let url: URL;
  try {
    url = new URL(spec.uri);
  } catch {
    return /:\d+(\/|$)/.test(spec.uri)
      ? fail(
          'RemoteJWKSPortInvalid',
          `${at}.uri: the port of ${JSON.stringify(spec.uri)} is none; use a number from 1 to 65535`,
        )
      : fail(
          'RemoteJWKSURIInvalid',
          `${at}.uri: ${JSON.stringify(spec.uri)} is no URI; write one such as https://issuer.example.com/keys`,
        );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return fail(
      'RemoteJWKSSchemeInvalid',
      `${at}.uri: the scheme of ${JSON.stringify(spec.uri)} is not known; use http or https`,
    );
  const isTls = url.protocol === 'https:';
  let validation: UpstreamValidation | undefined;
  if (spec.validation) {
    if (!isTls)
      return fail(
        'RemoteJWKSUpstreamValidationInvalid',
        `${at}.validation: there is nothing to verify over http; use https in uri, or remove it`,
      );
    const ref = secretReference(spec.validation.caSecret, namespace);
    if (!isDelegated(lookup, ref, namespace))
      return fail(
        'RemoteJWKSCACertificateNotDelegated',
        `${at}.validation.caSecret: Secret ${ref.namespace}/${ref.name} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
      );
    const secret = lookup.secret(ref.namespace, ref.name);
    const problem = secret ? caSecretProblem(secret) : NO_SECRET;
    if (!secret || problem !== undefined)
      return fail(
        'RemoteJWKSUpstreamValidationInvalid',
        `${at}.validation.caSecret: Secret ${ref.namespace}/${ref.name} cannot be used: ${problem ?? ''}`,
      );
    validation = {
      caName: `${ref.namespace}/${ref.name}`,
      ca: secret.data[CA_CERT] ?? Buffer.alloc(0),
      subjectNames: [spec.validation.subjectName],
    };
  }
  const timeout = spec.timeout === undefined ? 1_000 : durationMs(spec.timeout);
  if (timeout === undefined)
    return fail(
      'RemoteJWKSTimeoutInvalid',
      `${at}.timeout: ${JSON.stringify(spec.timeout)} is not a duration; write one such as 1s`,
    );
  const cache = spec.cacheDuration === undefined ? 300_000 : durationMs(spec.cacheDuration);
  if (cache === undefined)
    return fail(
      'RemoteJWKSCacheDurationInvalid',
      `${at}.cacheDuration: ${JSON.stringify(spec.cacheDuration)} is not a duration; write one such as 5m`,
    );
  const family = spec.dnsLookupFamily ? spec.dnsLookupFamily : settings.envoy.cluster.dnsLookupFamily;
  if (!['auto', 'v4', 'v6', 'all'].includes(family))
    return fail(
      'RemoteJWKSDNSLookupFamilyInvalid',
      `${at}.dnsLookupFamily: ${JSON.stringify(family)} is not known; use auto, all, v4 or v6`,
    );
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  const isStandard = port === (isTls ? 443 : 80);
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  // Providers of one address may verify it in different ways.
  const own =
    validation || spec.dnsLookupFamily
      ? `/${hexHash(JSON.stringify([validation?.caName, validation?.subjectNames, family]), 5)}`
      : '';
  const name = `dnsname/${url.protocol.slice(0, -1)}/${hostname}${isStandard ? '' : `/${port}`}${own}`;
  const cluster: Cluster = {
    name,
    statName: undefined,
    service: undefined,
    endpoints: { kind: 'dns', host: hostname, port, family: dnsFamily(family) },
    connectTimeout: '2s',
    balancing: undefined,
    health: undefined,
    circuitBreakers: undefined,
    bufferLimitBytes: undefined,
    protocol: isTls ? 'tls' : '',
    idleTimeout: undefined,
    maxRequestsPerConnection: undefined,
    tls: upstreamTls({ protocol: isTls ? 'tls' : '', validation, sni: hostname }, settings),
    origin: { ...owner, path: at },
  };
  return { kind: 'remote', uri: spec.uri, cluster, timeout: seconds(timeout), cacheDuration: seconds(cache) };
}
