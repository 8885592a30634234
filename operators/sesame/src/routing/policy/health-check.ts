import type { Message } from '../../envoy/index.ts';
import type { ProxyRoute, ProxySpec } from '../../kinds/http-proxy.ts';

type HttpSpec = NonNullable<ProxyRoute['healthCheckPolicy']>;
type TcpSpec = NonNullable<NonNullable<ProxySpec['tcpproxy']>['healthCheckPolicy']>;

const HOST = 'sesame-envoy-healthcheck';

export function healthCheckProblem({ path, expectedStatuses = [] }: HttpSpec): string | undefined {
  if (path !== '' && !path.startsWith('/'))
    return `healthcheck path: invalid path ${JSON.stringify(path)}: it does not start with /`;
  if (/[?#]/.test(path)) return `healthcheck path: invalid path ${JSON.stringify(path)}: it has a query or a fragment`;
  for (const { start, end } of expectedStatuses)
    if (start >= end) return `expected statuses: start ${start} is not less than end ${end}`;
  return undefined;
}

export function httpHealthCheck(spec: HttpSpec): Message {
  return {
    ...common(spec),
    http_health_check: {
      path: spec.path === '' ? '/' : spec.path,
      host: spec.host ? spec.host : HOST,
      ...(spec.expectedStatuses && { expected_statuses: spec.expectedStatuses }),
    },
  };
}

export function tcpHealthCheck(spec: TcpSpec): Message {
  return { ...common(spec), tcp_health_check: {} };
}

function common({
  intervalSeconds,
  timeoutSeconds,
  unhealthyThresholdCount,
  healthyThresholdCount,
}: TcpSpec | HttpSpec): Message {
  return {
    timeout: `${positive(timeoutSeconds) ?? 2}s`,
    interval: `${positive(intervalSeconds) ?? 10}s`,
    unhealthy_threshold: positive(unhealthyThresholdCount) ?? 3,
    healthy_threshold: positive(healthyThresholdCount) ?? 2,
  };
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
