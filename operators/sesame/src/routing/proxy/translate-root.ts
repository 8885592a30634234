// A root HTTPProxy with everything that it includes, to the model of its host.
import { type Violation, validateAny } from '../../envoy/index.ts';
import type { HTTPProxy, ProxySpec, ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import type { Certificate, NamedSecret } from '../../model/certificate.ts';
import type { AuthorizationService, Login } from '../../model/listener.ts';
import type { Origin } from '../../model/origin.ts';
import type { CorsPolicy, Policies, RateLimitDescriptor } from '../../model/policy.ts';
import type { Route } from '../../model/route.ts';
import {
  accept,
  type Findings,
  namesOf,
  ProblemLog,
  type Reporter,
  type Result,
  refuse,
  reporterOf,
} from '../../result.ts';
import { heldNames, upgradeToHttps } from '../conditions.ts';
import { authorizationMessage, tokensMessage } from '../envoy/access-message.ts';
import { clusterViolations } from '../envoy/cluster-message.ts';
import { hostViolations } from '../envoy/route-message.ts';
import { chainViolations } from '../listener/filter-chain.ts';
import type { Lookup } from '../lookup.ts';
import { type AuthorizationDecision, hostAuthorization, plainAuthorization } from '../policy/authorization.ts';
import { compressionOf } from '../policy/compression.ts';
import { corsPolicy } from '../policy/cors.ts';
import { hostErrorPages } from '../policy/error-pages.ts';
import { tcpHealthCheck } from '../policy/health-check.ts';
import { ipFilter } from '../policy/ip-filter.ts';
import { type HostTokens, hostTokens } from '../policy/jwt.ts';
import { loadBalancing } from '../policy/load-balancing.ts';
import { hostLogin } from '../policy/login.ts';
import { type RateLimitSpec, rateLimit } from '../policy/rate-limit.ts';
import type { RoutingSettings } from '../settings.ts';
import { clientCertificate } from '../upstream/client-certificate.ts';
import type { RootContext } from './proxy-context.ts';
import { collectRoutes, findInclude } from './proxy-includes.ts';
import { ownRoutes } from './proxy-route.ts';
import { resolveServices, type ServiceDestination } from './proxy-services.ts';
import { type TlsTermination, tlsTermination } from './proxy-tls.ts';

/** The contribution of one object to a host. */
export interface HostContribution {
  readonly fqdn: string;
  /** Over plain HTTP. */
  readonly plain: readonly Route[];
  readonly secure: SecureContribution | undefined;
  /** The policies of the virtual host as a whole. */
  readonly policies: Policies;
  readonly rateLimits: readonly RateLimitDescriptor[];
  readonly origins: readonly Origin[];
}

export interface SecureContribution {
  readonly routes: readonly Route[];
  /** Undefined: TLS is passed through. */
  readonly tls: TlsTermination | undefined;
  readonly tcp: readonly ServiceDestination[] | undefined;
  readonly jwt: HostTokens | undefined;
  readonly authorization: AuthorizationService | undefined;
  readonly login?: Login | undefined;
}

export interface TranslatedRoot {
  /** One for each name that is served; none when the root as a whole is not valid. */
  readonly parts: readonly HostContribution[];
  /** Names that belong to the root and that it cannot serve: requests for them must not reach the host of a wildcard. */
  readonly closed: readonly string[];
  readonly secrets: readonly NamedSecret[];
  /** By `namespace/name`, of the root and of all that it includes. */
  readonly findings: ReadonlyMap<string, Findings>;
}

export interface RootOptions {
  /** By name, another HTTPProxy that has the name too, `namespace/name`, is older and keeps it. */
  readonly olderRoots?: ReadonlyMap<string, string>;
}

export function translateRoot(
  root: HTTPProxy,
  lookup: Lookup,
  settings: RoutingSettings,
  options: RootOptions = {},
): TranslatedRoot {
  const log = new ProblemLog();
  log.visit(namesOf(root));
  const reporter = reporterOf(log, namesOf(root));
  const translation = new RootTranslation(root, lookup, settings, log, reporter);
  const held = translation.names(options);
  const parts = translation.hasContent() ? held.flatMap((fqdn) => translation.part(fqdn) ?? []) : [];
  const served = new Set(parts.map(({ fqdn }) => fqdn));
  return {
    parts,
    closed: held.filter((fqdn) => !served.has(fqdn)),
    secrets: translation.secrets(parts),
    findings: log.findings(),
  };
}

class RootTranslation {
  readonly #root: HTTPProxy;
  readonly #host: ProxyVirtualHost;
  readonly #lookup: Lookup;
  readonly #settings: RoutingSettings;
  readonly #log: ProblemLog;
  readonly #reporter: Reporter;
  #clientCertificate: Certificate | undefined;

  constructor(root: HTTPProxy, lookup: Lookup, settings: RoutingSettings, log: ProblemLog, reporter: Reporter) {
    this.#root = root;
    this.#host = root.spec.virtualhost ?? {};
    this.#lookup = lookup;
    this.#settings = settings;
    this.#log = log;
    this.#reporter = reporter;
  }

  /** Returns the names that are the root's own. */
  names({ olderRoots = new Map() }: RootOptions): string[] {
    const { namespace } = namesOf(this.#root);
    const { rootNamespaces: roots = [], fallbackCertificate } = this.#settings.httpproxy;
    if (roots.length > 0 && !roots.includes(namespace)) {
      this.#reporter.error(
        'RootNamespaceError',
        'RootProxyNotAllowedInNamespace',
        `metadata.namespace: roots are only allowed in ${roots.join(', ')} (httpproxy.rootNamespaces of the SesameConfiguration); move it there`,
      );
      return [];
    }
    return heldNames(this.#host, olderRoots, fallbackCertificate !== undefined, this.#reporter);
  }

  hasContent(): boolean {
    const { routes, includes, tcpproxy } = this.#root.spec;
    if (routes?.length || includes?.length || tcpproxy) return true;
    this.#reporter.error(
      'SpecError',
      'NothingDefined',
      'spec: it has neither routes nor includes nor a tcpproxy; add one of them',
    );
    return false;
  }

  /** Secrets that the host uses: its certificate, the fallback, the one that Envoy shows to services, the keys of logins. */
  secrets([part]: readonly HostContribution[]): NamedSecret[] {
    const { tls, login } = part?.secure ?? {};
    const certificates = [tls?.secret, tls?.fallback, part ? this.#clientCertificate : undefined];
    return [...certificates, login?.clientSecret, login?.cookieSecret].filter((each) => each !== undefined);
  }

  part(fqdn: string): HostContribution | undefined {
    const { tls } = this.#host;
    const { spec } = this.#root;
    let termination: TlsTermination | undefined;
    if (tls) {
      if (!this.#isTlsConsistent(tls)) return undefined;
      if (tls.passthrough !== true) {
        termination = tlsTermination(this.#root, tls, this.#lookup, this.#settings, this.#reporter);
        if (!termination) return undefined;
      }
    }
    const isSecure = termination !== undefined;
    const jwt = this.#jwt(isSecure);
    if (!jwt.isOk) return undefined;
    const authorization = this.#authorization(isSecure);
    if (!authorization) return undefined;
    const { oidc } = this.#host;
    const login = oidc && hostLogin(this.#root, oidc, isSecure, this.#lookup, this.#settings, this.#reporter);
    if (oidc && !login) return undefined;
    const vhost = this.#hostPolicies(fqdn);
    if (!vhost) return undefined;
    const asked = authorization.service && plainAuthorization(this.#root, authorization);
    if (this.#settings.envoy.clientCertificate)
      this.#clientCertificate = clientCertificate(this.#settings, this.#lookup, this.#reporter);
    const context: RootContext = {
      root: this.#root,
      fqdn,
      lookup: this.#lookup,
      settings: this.#settings,
      log: this.#log,
      isSecure,
      hasLogin: login !== undefined,
      jwt: jwt.value,
      hasAuthorization: authorization.service !== undefined || this.#settings.globalExtAuth !== undefined,
      authorizationContext: authorization.context,
      isAuthorizationDisabled: authorization.isDisabled,
      hostAuthorization: asked,
      clientCertificate: this.#clientCertificate?.name,
      clusters: new Map(),
    };
    let tcp: readonly ServiceDestination[] | undefined;
    if (spec.tcpproxy) {
      if (!tls) {
        this.#reporter.error(
          'TCPProxyError',
          'TLSMustBeConfigured',
          'spec.tcpproxy: it needs TLS, by which its host is found; set spec.virtualhost.tls.secretName or passthrough',
        );
        return undefined;
      }
      tcp = this.#tcp(context, this.#root, spec.tcpproxy, []);
      if (!tcp) return undefined;
    }
    const root = this.#root;
    const routes = root.spec.includes?.length ? collectRoutes(context, root) : ownRoutes(root, context);
    const part: HostContribution = {
      fqdn,
      plain: tls ? routes.map(upgradeToHttps) : routes,
      secure:
        tls && (tcp || isSecure)
          ? {
              routes: tcp ? [] : routes,
              tls: termination,
              tcp,
              jwt: jwt.value,
              authorization: authorization.service,
              login,
            }
          : undefined,
      ...vhost,
      policies: asked ? { ...vhost.policies, hostAuthorization: asked } : vhost.policies,
      origins: [{ kind: 'HTTPProxy', ...namesOf(this.#root), path: 'spec.virtualhost' }],
    };
    const [refused] = [...hostViolations(part), ...(part.secure ? chainViolations(part, this.#settings) : [])];
    if (!refused) return part;
    this.#reporter.error('VirtualHostError', 'RefusedByEnvoy', `spec.virtualhost: ${refusal(refused)}`);
    return undefined;
  }

  #isTlsConsistent(tls: NonNullable<ProxyVirtualHost['tls']>): boolean {
    const fail = (message: string): boolean => {
      this.#reporter.error('TLSError', 'TLSConfigNotValid', message);
      return false;
    };
    if (!tls.secretName && tls.passthrough !== true)
      return fail('spec.virtualhost.tls: it has neither secretName nor passthrough; set one of them');
    if (tls.secretName && tls.passthrough === true)
      return fail('spec.virtualhost.tls: it has both secretName and passthrough; keep one of them');
    if (tls.passthrough === true && tls.clientValidation)
      return fail(
        'spec.virtualhost.tls.clientValidation: TLS that is passed through is not decrypted; remove it or passthrough',
      );
    if (tls.passthrough === true && !this.#root.spec.tcpproxy)
      return fail('spec.virtualhost.tls.passthrough: it needs spec.tcpproxy; add it, or use secretName');
    const [least, most] = [tls.minimumProtocolVersion ?? '', tls.maximumProtocolVersion ?? ''];
    if (least === '1.3' && most === '1.2')
      return fail(
        `spec.virtualhost.tls.minimumProtocolVersion: ${least} is above maximumProtocolVersion (${most}); lower it or raise the other`,
      );
    return true;
  }

  #jwt(isSecure: boolean): Result<HostTokens | undefined, void> {
    const providers = this.#host.jwtProviders ?? [];
    if (providers.length === 0) return accept(undefined);
    if (!isSecure) {
      this.#reporter.error(
        'JWTVerificationError',
        'JWTVerificationNotPermitted',
        'spec.virtualhost.jwtProviders: tokens are only verified where TLS ends here; set spec.virtualhost.tls.secretName',
      );
      return refuse(undefined);
    }
    if (this.#host.tls?.enableFallbackCertificate === true) {
      this.#reporter.error(
        'TLSError',
        'TLSIncompatibleFeatures',
        'spec.virtualhost.tls.enableFallbackCertificate: it cannot be combined with jwtProviders; remove one of them',
      );
      return refuse(undefined);
    }
    const owner = { kind: 'HTTPProxy', ...namesOf(this.#root) };
    const found = hostTokens(providers, owner, this.#lookup, this.#settings, this.#reporter);
    if (!found) return refuse(undefined);
    // Envoy would refuse the listener of all hosts.
    const [refused] = [
      ...validateAny(tokensMessage(found.verification)),
      ...found.clusters.flatMap((cluster) => clusterViolations(cluster)),
    ];
    if (!refused) return accept(found);
    this.#reporter.error(
      'JWTVerificationError',
      'RefusedByEnvoy',
      `spec.virtualhost.jwtProviders: ${refusal(refused)}`,
    );
    return refuse(undefined);
  }

  #authorization(isSecure: boolean): AuthorizationDecision | undefined {
    const { authorization: own, tls } = this.#host;
    if (!own && !this.#settings.globalExtAuth) return { service: undefined, isDisabled: false, context: {} };
    if (own && isSecure && tls?.enableFallbackCertificate === true) {
      this.#reporter.error(
        'TLSError',
        'TLSIncompatibleFeatures',
        'spec.virtualhost.tls.enableFallbackCertificate: it cannot be combined with authorization; remove one of them',
      );
      return undefined;
    }
    const { namespace } = namesOf(this.#root);
    const host = { isSecure, isPlain: !tls, namespace };
    const found = hostAuthorization(own, host, this.#settings, this.#lookup, this.#reporter);
    const [refused] = found?.service ? validateAny(authorizationMessage(found.service)) : [];
    if (!refused) return found;
    this.#reporter.error('AuthError', 'RefusedByEnvoy', `spec.virtualhost.authorization: ${refusal(refused)}`);
    return undefined;
  }

  #hostPolicies(fqdn: string): Pick<HostContribution, 'policies' | 'rateLimits'> | undefined {
    let cors: CorsPolicy | undefined;
    if (this.#host.corsPolicy) {
      const found = corsPolicy(this.#host.corsPolicy);
      if (!found.isOk) {
        this.#reporter.error('CORSError', 'PolicyDidNotParse', `spec.virtualhost.corsPolicy.${found.problem}`);
        return undefined;
      }
      cors = found.value;
    }
    const spec = this.#rateLimits();
    const limits = spec && rateLimit(spec, `vhost.${fqdn}`);
    if (limits && !limits.isOk) {
      this.#reporter.error(
        'VirtualHostError',
        'RateLimitPolicyNotValid',
        `spec.virtualhost.rateLimitPolicy${limits.problem}`,
      );
      return undefined;
    }
    const { ipAllowPolicy, ipDenyPolicy } = this.#host;
    const addresses = ipAllowPolicy || ipDenyPolicy ? ipFilter(ipAllowPolicy, ipDenyPolicy) : undefined;
    if (addresses && !addresses.isOk) {
      this.#reporter.error('IPFilterError', addresses.problem.reason, `spec.virtualhost.${addresses.problem.problem}`);
      return undefined;
    }
    const { compressionPolicy } = this.#host;
    const compression = compressionPolicy && compressionOf(compressionPolicy);
    if (compression && !compression.isOk)
      this.#reporter.error(
        'VirtualHostError',
        'CompressionPolicyNotValid',
        `spec.virtualhost.compressionPolicy.${compression.problem}`,
      );
    const errorPages = this.#host.errorPages?.length ? hostErrorPages(this.#root, this.#reporter) : [];
    return {
      policies: {
        ...(cors && { cors }),
        ...limits?.value.policies,
        ...(addresses && { addresses: addresses.value }),
        ...(compression?.isOk && { compression: compression.value }),
        ...(errorPages.length > 0 && { errorPages }),
      },
      rateLimits: limits?.value.descriptors ?? [],
    };
  }

  /** The global limits of all hosts hold for a host that has none of its own and did not disable them; local limits are added. */
  #rateLimits(): RateLimitSpec | undefined {
    const own = this.#host.rateLimitPolicy;
    const shared = this.#settings.rateLimitService?.defaultGlobalRateLimitPolicy;
    if (shared === undefined || own?.global !== undefined) return own;
    return own && own.local === undefined ? own : { ...own, global: shared };
  }

  #tcp(
    context: RootContext,
    proxy: HTTPProxy,
    spec: NonNullable<ProxySpec['tcpproxy']>,
    path: readonly HTTPProxy[],
  ): readonly ServiceDestination[] | undefined {
    this.#log.visit(namesOf(proxy));
    const reporter = reporterOf(this.#log, namesOf(proxy));
    const visited = [...path, proxy];
    const include = spec.include ?? spec.includes;
    if (spec.services?.length && include) {
      reporter.error(
        'TCPProxyError',
        'NoServicesAndInclude',
        'spec.tcpproxy: it has both services and include; keep one of them',
      );
      return undefined;
    }
    if (include) {
      const child = findInclude(
        context,
        proxy,
        { ...include, at: 'spec.tcpproxy.include' },
        visited,
        'TCPProxyIncludeError',
      );
      if (!child) return undefined;
      if (!child.spec.tcpproxy) {
        this.#log.visit(namesOf(child));
        this.#log.error(
          namesOf(child),
          'TCPProxyError',
          'NothingDefined',
          `spec.tcpproxy: it is missing, and ${namesOf(proxy).namespace}/${namesOf(proxy).name} includes this HTTPProxy by its tcpproxy; add services`,
        );
        return undefined;
      }
      return this.#tcp(context, child, child.spec.tcpproxy, visited);
    }
    if (!spec.services?.length) {
      reporter.error(
        'TCPProxyError',
        'NothingDefined',
        'spec.tcpproxy: it has neither services nor include; add one of them',
      );
      return undefined;
    }
    const strategy = spec.loadBalancerPolicy?.strategy;
    if (strategy === 'Cookie' || strategy === 'RequestHash')
      reporter.warn(
        'TCPProxyError',
        'IgnoredField',
        `spec.tcpproxy.loadBalancerPolicy.strategy: ${strategy} needs HTTP, and RoundRobin is used instead; use RoundRobin, WeightedLeastRequest or Random`,
      );
    const usable = strategy === 'Cookie' || strategy === 'RequestHash' ? undefined : spec.loadBalancerPolicy;
    const resolved = resolveServices(
      proxy,
      spec.services,
      {
        strategy: loadBalancing(usable, reporter, 'spec.tcpproxy').strategy,
        healthCheck: spec.healthCheckPolicy && tcpHealthCheck(spec.healthCheckPolicy),
        idleTimeout: undefined,
        routeHost: undefined,
        cookies: [],
        problemType: 'TCPProxyError',
        at: 'spec.tcpproxy',
      },
      context,
    );
    return resolved.isBroken || resolved.destinations.length === 0 ? undefined : resolved.destinations;
  }
}

function refusal({ path, problem }: Violation): string {
  return `Envoy would refuse it (${path} ${problem}); correct the value that it comes from`;
}
