import type { Envoy } from '../../envoy/index.ts';
import type { ProxyRoute, ProxySpec } from '../../kinds/http-proxy.ts';

type HttpSpec = NonNullable<ProxyRoute['healthCheckPolicy']>;
type TcpSpec = NonNullable<NonNullable<ProxySpec['tcpproxy']>['healthCheckPolicy']>;

const HOST = 'sesame-envoy-healthcheck';

export function healthCheckProblem({ path, expectedStatuses = [] }: HttpSpec): string | undefined {
  if (path !== '' && !path.startsWith('/'))
    return `path: ${JSON.stringify(path)} does not start with "/"; write ${JSON.stringify(`/${path}`)}`;
  if (/[?#]/.test(path)) return `path: ${JSON.stringify(path)} has a query or a fragment; leave it out`;
  for (const [index, { start, end }] of expectedStatuses.entries())
    if (start >= end)
      return `expectedStatuses[${index}]: start ${start} is not less than end ${end}; the end is not part of the range`;
  return undefined;
}

export function httpHealthCheck(spec: HttpSpec): Envoy.HealthCheck {
  return {
    ...common(spec),
    http_health_check: {
      path: spec.path === '' ? '/' : spec.path,
      host: spec.host ? spec.host : HOST,
      expected_statuses: spec.expectedStatuses,
    },
  };
}

export function tcpHealthCheck(spec: TcpSpec): Envoy.HealthCheck {
  return { ...common(spec), tcp_health_check: {} };
}

type Timing = Pick<
  Envoy.HealthCheck,
  'timeout' | 'interval' | 'no_traffic_interval' | 'unhealthy_threshold' | 'healthy_threshold'
>;

function common({
  intervalSeconds,
  timeoutSeconds,
  unhealthyThresholdCount,
  healthyThresholdCount,
}: TcpSpec | HttpSpec): Timing {
  const interval = `${positive(intervalSeconds) ?? 10}s`;
  return {
    timeout: `${positive(timeoutSeconds) ?? 2}s`,
    interval,
    // Envoy's own is a minute: an endpoint that fails its first check, before the first request, would be out for as long.
    no_traffic_interval: interval,
    unhealthy_threshold: positive(unhealthyThresholdCount) ?? 3,
    healthy_threshold: positive(healthyThresholdCount) ?? 2,
  };
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
