// External authorization: the filter of a host, and the settings of its routes.
import type { ExtensionService } from '../../kinds/extension-service.ts';
import type { HTTPProxy, ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import type { AuthorizationService, HttpAuthorization } from '../../model/listener.ts';
import type { TextMatch } from '../../model/match.ts';
import type { HostAuthorization, Policies } from '../../model/policy.ts';
import { namesOf, type Reporter } from '../../result.ts';
import type { Lookup } from '../lookup.ts';
import type { RoutingSettings } from '../settings.ts';
import { envoyTimeout } from '../timeouts.ts';

export type AuthorizationSpec = NonNullable<ProxyVirtualHost['authorization']>;

const OWN = 'spec.virtualhost.authorization';
export const GLOBAL = 'globalExtAuth of the SesameConfiguration';

/** Undefined after an error was reported. `at` names the settings in messages. */
export function authorizationService(
  spec: AuthorizationSpec,
  namespace: string,
  lookup: Lookup,
  reporter: Reporter,
  at: string = OWN,
): AuthorizationService | undefined {
  const ref = spec.extensionRef ?? {};
  const where = `${ref.namespace ?? namespace}/${ref.name ?? ''}`;
  if (ref.apiVersion && !/^project(sesame|contour)\.io\/v1alpha1$/.test(ref.apiVersion)) {
    reporter.error(
      'AuthError',
      'AuthBadResourceVersion',
      `${at}.extensionRef.apiVersion: ${JSON.stringify(ref.apiVersion)} is not known; use projectsesame.io/v1alpha1`,
    );
    return undefined;
  }
  if (spec.serviceType && !['grpc', 'http'].includes(spec.serviceType)) {
    reporter.error(
      'AuthError',
      'AuthServiceTypeNotValid',
      `${at}.serviceType: ${JSON.stringify(spec.serviceType)} is not known; use grpc or http`,
    );
    return undefined;
  }
  const extension = lookup.extensionService(ref.namespace ?? namespace, ref.name ?? '');
  if (!extension) {
    reporter.error(
      'AuthError',
      'ExtensionServiceNotFound',
      `${at}.extensionRef: ExtensionService ${where} does not exist; create it or correct the name`,
    );
    return undefined;
  }
  // A duration of the ExtensionService that is none is reported there.
  const own = envoyTimeout(extension.spec.timeoutPolicy?.response);
  const timeout = spec.responseTimeout || !own.isOk ? envoyTimeout(spec.responseTimeout) : own;
  if (!timeout.isOk) {
    reporter.error('AuthError', 'AuthResponseTimeoutInvalid', `${at}.responseTimeout: ${timeout.problem}`);
    return undefined;
  }
  const cluster = extensionClusterName(ref.namespace ?? namespace, ref.name ?? '');
  const isHttp = spec.serviceType === 'http';
  if (isHttp && spec.authPolicy?.context !== undefined) {
    reporter.error(
      'AuthError',
      'AuthContextForHTTP',
      `${at}.authPolicy.context: a service of the type http gets none; remove it, or use serviceType grpc`,
    );
    return undefined;
  }
  const protocol = isHttp
    ? httpAuthorization(spec, reporter, at)
    : { kind: 'grpc' as const, authority: extension.spec.validation?.subjectName ?? cluster.replaceAll('/', '.') };
  if (!protocol) return undefined;
  const { withRequestBody: body } = spec;
  return {
    cluster,
    protocol,
    timeout: timeout.value,
    failOpen: spec.failOpen ?? false,
    body: body && {
      maxBytes: body.maxRequestBytes ?? 1024,
      allowsPartial: body.allowPartialMessage ?? false,
      isSentAsBytes: body.packAsBytes ?? false,
    },
  };
}

/**
 * The authorization of every plain host; undefined where none is configured. A service that does not exist is called all the same: Envoy
 * cannot reach it and refuses, as configured.
 */
export function globalAuthorization(
  { globalExtAuth }: RoutingSettings,
  lookup: Lookup,
): AuthorizationService | undefined {
  if (globalExtAuth?.extensionRef === undefined) return undefined;
  return authorizationService(globalExtAuth, '', askedAllTheSame(lookup), SILENT);
}

/** Finds every ExtensionService. Envoy cannot reach one that does not exist, and refuses. */
function askedAllTheSame(lookup: Lookup): Lookup {
  return {
    ...lookup,
    extensionService: (namespace, name) => lookup.extensionService(namespace, name) ?? ABSENT,
  };
}

/** How the routes of an HTTPProxy's host are authorized. */
export interface AuthorizationDecision {
  /** The service of the host's filter chain, or, without TLS, that of the host itself; undefined: none is asked by the host. */
  readonly service: AuthorizationService | undefined;
  /** Default for routes that have no `authPolicy`. */
  readonly isDisabled: boolean;
  readonly context: Readonly<Record<string, string>>;
}

interface HostKind {
  /** TLS ends here. */
  readonly isSecure: boolean;
  /** There is no TLS. */
  readonly isPlain: boolean;
  readonly namespace: string;
}

/** Returns the policy of a host without TLS that names a service of its own. */
export function plainAuthorization(root: HTTPProxy, decision: AuthorizationDecision): HostAuthorization | undefined {
  const { service, isDisabled, context } = decision;
  if (!service || root.spec.virtualhost?.tls) return undefined;
  return { service, isDisabled, context, origin: { kind: 'HTTPProxy', ...namesOf(root), path: OWN } };
}

/**
 * Combines the host's own `authorization` with `globalExtAuth`. A host that names a service of its own inherits nothing: a global
 * `failOpen`, timeout or `disabled` would weaken the host's setting. A host that names none has the global settings whole and only decides
 * about its own routes (`authPolicy`). Undefined after an error was reported.
 */
export function hostAuthorization(
  own: AuthorizationSpec | undefined,
  { isSecure, isPlain, namespace }: HostKind,
  settings: RoutingSettings,
  lookup: Lookup,
  reporter: Reporter,
): AuthorizationDecision | undefined {
  const { globalExtAuth: shared } = settings;
  const policy = own ? own.authPolicy : shared?.authPolicy;
  const isDisabled = policy?.disabled ?? false;
  const decided = { isDisabled, context: policy?.context ?? {} };
  if (own?.extensionRef?.name) {
    if (!isSecure && !isPlain) {
      reporter.error(
        'AuthError',
        'AuthNotPermitted',
        `${OWN}: requests are not decrypted where TLS is passed through; set spec.virtualhost.tls.secretName instead of passthrough, or remove it`,
      );
      return undefined;
    }
    // Hosts without TLS share the filter that has the list.
    if (isPlain && own.httpSettings?.allowedAuthorizationHeaders?.length) {
      reporter.error(
        'AuthError',
        'AuthNotPermitted',
        `${OWN}.httpSettings.allowedAuthorizationHeaders: a host without TLS cannot choose the headers that the service gets; set spec.virtualhost.tls.secretName, use serviceType grpc, or remove it`,
      );
      return undefined;
    }
    const service = authorizationService(own, namespace, isDisabled ? askedAllTheSame(lookup) : lookup, reporter);
    return service && { service, ...decided };
  }
  if (own && !isDisabled && !shared) {
    reporter.error(
      'AuthError',
      'ExtensionServiceNotFound',
      `${OWN}.extensionRef: it is empty, and the SesameConfiguration has no globalExtAuth; name an ExtensionService, or set authPolicy.disabled`,
    );
    return undefined;
  }
  for (const field of ['serviceType', 'httpSettings', 'responseTimeout', 'failOpen', 'withRequestBody'] as const)
    if (own?.[field] !== undefined)
      reporter.warn(
        'SpecError',
        'IgnoredField',
        `${OWN}.${field}: it is ignored, because the host has no extensionRef and ${shared ? `is authorized by ${GLOBAL}` : 'is not authorized'}; add extensionRef, or remove it`,
      );
  if (!isSecure || !shared) return { service: undefined, ...decided };
  // A host that opted out does not depend on the global service.
  if (isDisabled) return { service: globalAuthorization(settings, lookup), ...decided };
  const service = authorizationService(shared, namespace, lookup, reporter, GLOBAL);
  return service && { service, ...decided };
}

/** The policy of hosts whose objects have none of their own: they cannot turn on an authorization that is off for all. */
export function globalAuthorizationPolicy({ globalExtAuth }: RoutingSettings): Policies {
  const { disabled = false, context } = globalExtAuth?.authPolicy ?? {};
  if (disabled) return { authorization: { kind: 'disabled' } };
  return context ? { authorization: { kind: 'context', context } } : {};
}

const ABSENT = { metadata: {}, spec: { services: [] } } as unknown as ExtensionService;
const SILENT: Reporter = { error: () => undefined, warn: () => undefined };

export function extensionClusterName(namespace: string, name: string): string {
  return `extension/${namespace}/${name}`;
}

function httpAuthorization(
  { httpSettings }: AuthorizationSpec,
  reporter: Reporter,
  at: string,
): HttpAuthorization | undefined {
  const patterns = (field: 'allowedUpstreamHeaders' | 'allowedAuthorizationHeaders'): TextMatch[] | undefined => {
    const found: TextMatch[] = [];
    for (const [index, each] of (httpSettings?.[field] ?? []).entries()) {
      const { exact, prefix, suffix, contains, ignoreCase } = each;
      const kinds = { exact, prefix, suffix, contains };
      const given = (['exact', 'prefix', 'suffix', 'contains'] as const).filter((kind) => kinds[kind]);
      const [only] = given;
      if (given.length !== 1 || !only) {
        reporter.error(
          'AuthError',
          'AuthBadAllowedHeader',
          `${at}.httpSettings.${field}[${index}]: it has ${given.length} of exact, prefix, suffix and contains; set exactly one of them`,
        );
        return undefined;
      }
      found.push({ kind: only, value: kinds[only] ?? '', ignoreCase: ignoreCase === true });
    }
    return found;
  };
  const { pathPrefix = '' } = httpSettings ?? {};
  if (pathPrefix !== '' && !pathPrefix.startsWith('/')) {
    reporter.error(
      'AuthError',
      'AuthPathPrefixInvalid',
      `${at}.httpSettings.pathPrefix: ${JSON.stringify(pathPrefix)} does not start with "/"; write ${JSON.stringify(`/${pathPrefix}`)}`,
    );
    return undefined;
  }
  const upstreamHeaders = patterns('allowedUpstreamHeaders');
  const requestHeaders = patterns('allowedAuthorizationHeaders');
  return upstreamHeaders && requestHeaders && { kind: 'http', pathPrefix, upstreamHeaders, requestHeaders };
}
