// External authorization: the filter of a host, and what routes say about it.
import { type Choice, type Envoy, type PerFilter, typed } from '../../envoy/index.ts';
import type { ExtensionService } from '../../kinds/extension-service.ts';
import type { ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import { stringMatcher } from '../conditions.ts';
import type { Lookup } from '../lookup.ts';
import type { Reporter } from '../problems.ts';
import type { RoutingSettings } from '../settings.ts';
import { envoyTimeout } from '../timeouts.ts';
import { FILTER } from './filter-names.ts';

export type AuthorizationSpec = NonNullable<ProxyVirtualHost['authorization']>;

const TYPE = 'envoy.extensions.filters.http.ext_authz.v3';
const OWN = 'spec.virtualhost.authorization';
export const GLOBAL = 'globalExtAuth of the SesameConfiguration';

/** The filter; undefined after an error was reported. `at` names the settings in messages. */
export function authorizationFilter(
  spec: AuthorizationSpec,
  namespace: string,
  lookup: Lookup,
  reporter: Reporter,
  at: string = OWN,
): { filter: Envoy.Any; cluster: string } | undefined {
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
  const service = isHttp
    ? httpService(spec, cluster, timeout.value, reporter, at)
    : grpcService(cluster, timeout.value, extension.spec.validation?.subjectName);
  if (!service) return undefined;
  const body = spec.withRequestBody;
  const filter = typed(`${TYPE}.ExtAuthz`, {
    ...service,
    transport_api_version: 'V3',
    failure_mode_allow: spec.failOpen ?? false,
    status_on_error: { code: 'Forbidden' },
    clear_route_cache: true,
    include_peer_certificate: true,
    with_request_body: body
      ? {
          max_request_bytes: body.maxRequestBytes ?? 1024,
          allow_partial_message: body.allowPartialMessage ?? false,
          pack_as_bytes: body.packAsBytes ?? false,
        }
      : undefined,
  });
  return { filter, cluster };
}

/**
 * The authorization of every plain host; undefined where none is configured. A service that does not exist is asked all the same:
 * Envoy cannot reach it and refuses, which is what was asked for.
 */
export function globalAuthorization({ globalExtAuth }: RoutingSettings, lookup: Lookup): Envoy.Any | undefined {
  if (globalExtAuth?.extensionRef === undefined) return undefined;
  return authorizationFilter(globalExtAuth, '', askedAllTheSame(lookup), SILENT)?.filter;
}

/** Finds every ExtensionService. Envoy cannot reach one that does not exist, and refuses. */
function askedAllTheSame(lookup: Lookup): Lookup {
  return {
    ...lookup,
    extensionService: (namespace, name) => lookup.extensionService(namespace, name) ?? ABSENT,
  };
}

/** How the routes of an HTTPProxy's host are authorized. */
export interface HostAuthorization {
  /** Undefined: no service is asked where TLS ends here. */
  readonly filter: Envoy.Any | undefined;
  /** Default for routes that have no `authPolicy`. */
  readonly isDisabled: boolean;
  readonly context: Readonly<Record<string, string>>;
}

/**
 * Combines the host's own `authorization` with `globalExtAuth`. A host that names a service of its own inherits nothing: a global
 * `failOpen`, timeout or `disabled` would weaken what the host asks for. A host that names none has the global settings whole and only
 * decides about its own routes (`authPolicy`). Undefined after an error was reported.
 */
export function hostAuthorization(
  own: AuthorizationSpec | undefined,
  { isSecure, namespace }: { readonly isSecure: boolean; readonly namespace: string },
  settings: RoutingSettings,
  lookup: Lookup,
  reporter: Reporter,
): HostAuthorization | undefined {
  const { globalExtAuth: shared } = settings;
  const policy = own ? own.authPolicy : shared?.authPolicy;
  const isDisabled = policy?.disabled ?? false;
  const decided = { isDisabled, context: policy?.context ?? {} };
  if (own?.extensionRef?.name) {
    if (!isSecure) {
      reporter.error(
        'AuthError',
        'AuthNotPermitted',
        `${OWN}: requests are only authorized where TLS ends here; set spec.virtualhost.tls.secretName, or globalExtAuth in the SesameConfiguration`,
      );
      return undefined;
    }
    const found = authorizationFilter(own, namespace, isDisabled ? askedAllTheSame(lookup) : lookup, reporter);
    return found && { filter: found.filter, ...decided };
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
  if (!isSecure || !shared) return { filter: undefined, ...decided };
  // A host that opted out does not depend on the global service.
  if (isDisabled) return { filter: globalAuthorization(settings, lookup), ...decided };
  const found = authorizationFilter(shared, namespace, lookup, reporter, GLOBAL);
  return found && { filter: found.filter, ...decided };
}

/** What hosts of objects that have no policy of their own say about it: they cannot turn on what is off for all. */
export function globalAuthorizationPolicy({ globalExtAuth }: RoutingSettings): PerFilter {
  const { disabled = false, context } = globalExtAuth?.authPolicy ?? {};
  if (disabled) return { [FILTER.authorization]: authorizationDisabled() };
  return context ? { [FILTER.authorization]: authorizationContext(context) } : {};
}

const ABSENT = { metadata: {}, spec: { services: [] } } as unknown as ExtensionService;
const SILENT: Reporter = { error: () => undefined, warn: () => undefined };

export function extensionClusterName(namespace: string, name: string): string {
  return `extension/${namespace}/${name}`;
}

export function authorizationDisabled(): Envoy.Any {
  return typed(`${TYPE}.ExtAuthzPerRoute`, { disabled: true });
}

export function authorizationContext(context: Readonly<Record<string, string>>): Envoy.Any {
  return typed(`${TYPE}.ExtAuthzPerRoute`, { check_settings: { context_extensions: context } });
}

/** The service that decides, and what is sent to it. */
type AskedService = Choice<Envoy.ExtAuthz, 'grpc_service' | 'http_service'> & Pick<Envoy.ExtAuthz, 'allowed_headers'>;

function grpcService(cluster: string, timeout: string | undefined, sni: string | undefined): AskedService {
  return {
    grpc_service: {
      envoy_grpc: { cluster_name: cluster, authority: sni ?? cluster.replaceAll('/', '.') },
      timeout,
    },
  };
}

function httpService(
  { httpSettings }: AuthorizationSpec,
  cluster: string,
  timeout: string | undefined,
  reporter: Reporter,
  at: string,
): AskedService | undefined {
  const patterns = (
    field: 'allowedUpstreamHeaders' | 'allowedAuthorizationHeaders',
  ): Envoy.StringMatcher[] | undefined => {
    const found: Envoy.StringMatcher[] = [];
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
      found.push(stringMatcher(only, kinds[only] ?? '', ignoreCase === true));
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
  const upstream = patterns('allowedUpstreamHeaders');
  const request = patterns('allowedAuthorizationHeaders');
  if (!upstream || !request) return undefined;
  return {
    http_service: {
      server_uri: { uri: `http://${cluster.replaceAll('/', '.')}/`, cluster, timeout: timeout ?? '0.2s' },
      path_prefix: pathPrefix !== '' ? pathPrefix : undefined,
      authorization_response: upstream.length > 0 ? { allowed_upstream_headers: { patterns: upstream } } : undefined,
    },
    allowed_headers: request.length > 0 ? { patterns: request } : undefined,
  };
}
