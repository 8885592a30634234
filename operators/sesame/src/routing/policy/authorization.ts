// External authorization: the filter of a host, and what routes say about it.
import { type Message, typed } from '../../envoy/index.ts';
import type { ProxyVirtualHost } from '../../kinds/http-proxy.ts';
import type { Lookup } from '../lookup.ts';
import type { Reporter } from '../problems.ts';
import { envoyTimeout } from './timeouts.ts';

export type AuthorizationSpec = NonNullable<ProxyVirtualHost['authorization']>;

const TYPE = 'envoy.extensions.filters.http.ext_authz.v3';

/** The filter; undefined after an error was reported. */
export function authorizationFilter(
  spec: AuthorizationSpec,
  namespace: string,
  lookup: Lookup,
  reporter: Reporter,
): { filter: Message; cluster: string } | undefined {
  const ref = spec.extensionRef ?? {};
  const where = `${ref.namespace ?? namespace}/${ref.name ?? ''}`;
  if (ref.apiVersion !== undefined && !/^project(sesame|contour)\.io\/v1alpha1$/.test(ref.apiVersion)) {
    reporter.error(
      'AuthError',
      'AuthBadResourceVersion',
      `Spec.Virtualhost.Authorization.extensionRef specifies an unsupported resource version ${JSON.stringify(ref.apiVersion)}`,
    );
    return undefined;
  }
  const extension = lookup.extensionService(ref.namespace ?? namespace, ref.name ?? '');
  if (!extension) {
    reporter.error(
      'AuthError',
      'ExtensionServiceNotFound',
      `Spec.Virtualhost.Authorization.ServiceRef extension service ${JSON.stringify(where)} not found`,
    );
    return undefined;
  }
  const timeout = envoyTimeout(spec.responseTimeout);
  if ('problem' in timeout) {
    reporter.error(
      'AuthError',
      'AuthResponseTimeoutInvalid',
      `Spec.Virtualhost.Authorization.ResponseTimeout is invalid: ${timeout.problem}`,
    );
    return undefined;
  }
  const cluster = extensionClusterName(ref.namespace ?? namespace, ref.name ?? '');
  const isHttp = spec.serviceType === 'http';
  if (isHttp && spec.authPolicy?.context !== undefined) {
    reporter.error(
      'AuthError',
      'AuthContextForHTTP',
      'Spec.Virtualhost.Authorization.AuthPolicy.Context has no effect with the service type http; remove it',
    );
    return undefined;
  }
  const service = isHttp
    ? httpService(spec, cluster, timeout.value, reporter)
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
    ...(body && {
      with_request_body: {
        max_request_bytes: body.maxRequestBytes ?? 1024,
        allow_partial_message: body.allowPartialMessage ?? false,
        pack_as_bytes: body.packAsBytes ?? false,
      },
    }),
  });
  return { filter, cluster };
}

export function extensionClusterName(namespace: string, name: string): string {
  return `extension/${namespace}/${name}`;
}

export function authorizationDisabled(): Message {
  return typed(`${TYPE}.ExtAuthzPerRoute`, { disabled: true });
}

export function authorizationContext(context: Readonly<Record<string, string>>): Message {
  return typed(`${TYPE}.ExtAuthzPerRoute`, { check_settings: { context_extensions: context } });
}

function grpcService(cluster: string, timeout: string | undefined, sni: string | undefined): Message {
  return {
    grpc_service: {
      envoy_grpc: { cluster_name: cluster, authority: sni ?? cluster.replaceAll('/', '.') },
      ...(timeout !== undefined && { timeout }),
    },
  };
}

function httpService(
  { httpSettings }: AuthorizationSpec,
  cluster: string,
  timeout: string | undefined,
  reporter: Reporter,
): Message | undefined {
  const patterns = (
    list: typeof httpSettings extends undefined ? never : NonNullable<typeof httpSettings>['allowedUpstreamHeaders'],
  ): Message[] | undefined => {
    const found: Message[] = [];
    for (const { exact, prefix, suffix, contains, ignoreCase } of list ?? []) {
      const given = Object.entries({ exact, prefix, suffix, contains }).filter(
        ([, value]) => value !== undefined && value !== '',
      );
      const [only] = given;
      if (given.length !== 1 || !only) {
        reporter.error(
          'AuthError',
          'AuthBadAllowedHeader',
          'Spec.Virtualhost.Authorization.HTTPSettings has a header with not exactly one of exact, prefix, suffix, contains',
        );
        return undefined;
      }
      found.push({ [only[0]]: only[1], ...(ignoreCase === true && { ignore_case: true }) });
    }
    return found;
  };
  const upstream = patterns(httpSettings?.allowedUpstreamHeaders);
  const request = patterns(httpSettings?.allowedAuthorizationHeaders);
  if (!upstream || !request) return undefined;
  return {
    http_service: {
      server_uri: { uri: `http://${cluster.replaceAll('/', '.')}/`, cluster, timeout: timeout ?? '0.2s' },
      ...(httpSettings?.pathPrefix && { path_prefix: httpSettings.pathPrefix }),
      ...(upstream.length > 0 && { authorization_response: { allowed_upstream_headers: { patterns: upstream } } }),
    },
    ...(request.length > 0 && { allowed_headers: { patterns: request } }),
  };
}
