// Verification of JSON web tokens: providers of a host, and the requirement of a route.
import type { ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { TokenProvider, TokenVerification } from '../../model/listener.ts';
import type { Origin } from '../../model/origin.ts';
import type { Reporter } from '../../result.ts';
import { isDelegated, type Lookup, secretReference } from '../lookup.ts';
import type { RoutingSettings } from '../settings.ts';
import { durationMs, seconds } from '../timeouts.ts';
import { outsideEndpoint } from '../upstream/outside-endpoint.ts';
import { NO_SECRET } from '../upstream/tls-secret.ts';

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
  const origin = { ...owner, path: at };
  const endpoint = outsideEndpoint(spec, origin, lookup, settings, (reason, message) =>
    fail(`RemoteJWKS${reason}`, message),
  );
  if (!endpoint) return undefined;
  const cache = spec.cacheDuration === undefined ? 300_000 : durationMs(spec.cacheDuration);
  if (cache === undefined)
    return fail(
      'RemoteJWKSCacheDurationInvalid',
      `${at}.cacheDuration: ${JSON.stringify(spec.cacheDuration)} is not a duration; write one such as 5m`,
    );
  return { kind: 'remote', ...endpoint, cacheDuration: seconds(cache) };
}
