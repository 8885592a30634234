// Logins by OpenID Connect: the provider of a host, and the keys that only Envoy and the provider know.
import { validateAny } from '../../envoy/index.ts';
import type { HTTPProxy, ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import type { SecretKey } from '../../model/certificate.ts';
import type { Login } from '../../model/listener.ts';
import { namesOf, type Reporter } from '../../result.ts';
import { loginMessage } from '../envoy/access-message.ts';
import { clusterViolations } from '../envoy/cluster-message.ts';
import { isDelegated, type Lookup, secretReference } from '../lookup.ts';
import type { RoutingSettings } from '../settings.ts';
import { outsideEndpoint } from '../upstream/outside-endpoint.ts';
import { NO_SECRET } from '../upstream/tls-secret.ts';

type Spec = NonNullable<ProxyVirtualHost['oidc']>;

const AT = 'spec.virtualhost.oidc';

/** The shortest key that signs sessions, in bytes. */
const MIN_KEY = 32;

/** Undefined after an error was reported: the host is not served then, because it would be served without logins. */
export function hostLogin(
  root: HTTPProxy,
  spec: Spec,
  isSecure: boolean,
  lookup: Lookup,
  settings: RoutingSettings,
  reporter: Reporter,
): Login | undefined {
  const fail = (reason: string, message: string): undefined => {
    reporter.error('AuthError', reason, `${AT}${message}`);
    return undefined;
  };
  const { tls } = root.spec.virtualhost ?? {};
  if (!isSecure)
    return fail('OIDCNotPermitted', ': clients only log in where TLS ends here; set spec.virtualhost.tls.secretName');
  if (tls?.enableFallbackCertificate === true)
    return fail(
      'OIDCNotPermitted',
      ': it cannot be combined with tls.enableFallbackCertificate, whose clients share one listener; remove one of them',
    );
  const problem = addressProblem(spec.authorizationEndpoint);
  if (problem !== undefined) return fail('OIDCEndpointInvalid', `.authorizationEndpoint: ${problem}`);
  const { callbackPath = '/oauth2/callback', logoutPath = '/oauth2/logout' } = spec;
  for (const [field, path] of Object.entries({ callbackPath, logoutPath }))
    if (!/^\/[^\s?#%]+$/.test(path))
      return fail(
        'OIDCPathInvalid',
        `.${field}: ${JSON.stringify(path)} is not a path without a query; write one such as /oauth2/callback`,
      );
  if (callbackPath === logoutPath)
    return fail('OIDCPathInvalid', `.logoutPath: it is the callbackPath too (${callbackPath}); use another path`);
  const origin = { kind: 'HTTPProxy', ...namesOf(root), path: AT };
  const token = outsideEndpoint(
    spec.tokenEndpoint,
    { ...origin, path: `${AT}.tokenEndpoint` },
    lookup,
    settings,
    (reason, message) => {
      reporter.error('AuthError', `OIDCTokenEndpoint${reason}`, message);
      return undefined;
    },
    { defaultTimeoutMs: 5_000, isSecret: true },
  );
  if (!token) return undefined;
  const keys = secretKeys(root, spec.secretName, lookup, fail);
  if (!keys) return undefined;
  const login: Login = {
    authorizationEndpoint: spec.authorizationEndpoint,
    token,
    clientId: spec.clientID,
    ...keys,
    callbackPath,
    logoutPath,
    scopes: spec.scopes?.length ? spec.scopes : ['openid'],
    forwardsToken: spec.forwardAccessToken === true,
    origin,
  };
  const [refused] = [...validateAny(loginMessage(login)), ...clusterViolations(token.cluster)];
  if (!refused) return login;
  return fail(
    'RefusedByEnvoy',
    `: Envoy would refuse it (${refused.path} ${refused.problem}); correct the value that it comes from`,
  );
}

/** Passwords are written there, so that it must be encrypted. */
function addressProblem(text: string): string | undefined {
  if (URL.canParse(text) && new URL(text).protocol === 'https:' && !text.includes('#')) return undefined;
  return `${JSON.stringify(text)} is not an https URI; write one such as https://login.example.com/authorize`;
}

function secretKeys(
  root: HTTPProxy,
  name: string,
  lookup: Lookup,
  fail: (reason: string, message: string) => undefined,
): Pick<Login, 'clientSecret' | 'cookieSecret'> | undefined {
  const { namespace } = namesOf(root);
  const ref = secretReference(name, namespace);
  const where = `${ref.namespace}/${ref.name}`;
  if (!isDelegated(lookup, ref, namespace))
    return fail(
      'OIDCSecretInvalid',
      `.secretName: Secret ${where} is not delegated to the namespace ${namespace}; add a TLSCertificateDelegation there`,
    );
  const secret = lookup.secret(ref.namespace, ref.name);
  if (!secret) return fail('OIDCSecretInvalid', `.secretName: Secret ${where} cannot be used: ${NO_SECRET}`);
  const key = (field: string): SecretKey | undefined => {
    const content = secret.data[field];
    const origin = { kind: 'Secret', ...ref, path: `data[${field}]` };
    return content && content.length > 0 ? { kind: 'key', name: `${where}/${field}`, content, origin } : undefined;
  };
  const [clientSecret, cookieSecret] = [key('client-secret'), key('hmac-secret')];
  if (!clientSecret || !cookieSecret)
    return fail(
      'OIDCSecretInvalid',
      `.secretName: Secret ${where} has no key ${clientSecret ? 'hmac-secret' : 'client-secret'}; add it`,
    );
  if (cookieSecret.content.length < MIN_KEY)
    return fail(
      'OIDCSecretInvalid',
      `.secretName: hmac-secret of Secret ${where} has ${cookieSecret.content.length} bytes; use ${MIN_KEY} random bytes`,
    );
  return { clientSecret, cookieSecret };
}
