import { array, defineKind, integer, type KindOf, object, string } from '@capstan/kube';
import { detailedConditions } from './http-proxy.ts';
import { choice, loadBalancerPolicy, timeoutPolicy, upstreamValidation } from './http-proxy-parts.ts';

const limit = () => integer({ optional: true, minimum: 1, format: 'int64' });

export const ExtensionService = defineKind({
  group: 'projectsesame.io',
  version: 'v1alpha1',
  kind: 'ExtensionService',
  shortNames: ['extensionservice', 'extensionservices'],
  scope: 'Namespaced',
  description: 'A service that Envoy itself calls: authorization, rate limits, traces.',
  spec: object({
    services: array(
      object({
        name: string({ minLength: 1 }),
        port: integer({ minimum: 1, maximum: 65_535, format: 'int32' }),
        weight: integer({ optional: true, minimum: 0, format: 'int32' }),
      }),
      { minItems: 1 },
    ),
    validation: upstreamValidation(),
    protocol: choice(['http/1.1', 'h2', 'h2c'], 'h2 by default.'),
    loadBalancerPolicy: loadBalancerPolicy(),
    timeoutPolicy: timeoutPolicy(),
    protocolVersion: choice(['v3']),
    circuitBreakerPolicy: object(
      {
        maxConnections: limit(),
        maxPendingRequests: limit(),
        maxRequests: limit(),
        maxRetries: limit(),
        perHostMaxConnections: limit(),
      },
      { optional: true },
    ),
  }),
  status: object({ conditions: detailedConditions() }),
});
export type ExtensionService = KindOf<typeof ExtensionService>;
