import type { ProxyRoute, ProxySpec } from '../../kinds/http-proxy.ts';
import type { HealthCheck } from '../../model/cluster.ts';

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

export function httpHealthCheck(spec: HttpSpec): HealthCheck {
  return {
    http: {
      path: spec.path === '' ? '/' : spec.path,
      host: spec.host ? spec.host : HOST,
      expectedStatuses: spec.expectedStatuses,
    },
    ...timing(spec),
  };
}

export function tcpHealthCheck(spec: TcpSpec): HealthCheck {
  return { http: undefined, ...timing(spec) };
}

function timing({
  intervalSeconds,
  timeoutSeconds,
  unhealthyThresholdCount,
  healthyThresholdCount,
}: TcpSpec | HttpSpec): Omit<HealthCheck, 'http'> {
  return {
    timeout: `${positive(timeoutSeconds) ?? 2}s`,
    interval: `${positive(intervalSeconds) ?? 10}s`,
    unhealthyThreshold: positive(unhealthyThresholdCount) ?? 3,
    healthyThreshold: positive(healthyThresholdCount) ?? 2,
  };
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
