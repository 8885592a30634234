import type { EffectiveConfiguration } from '../configuration/index.ts';
import type { RoutingSettings } from '../routing/settings.ts';

/** What routes depend on: an edit of anything else computes none of them again. */
export function routingSettingsOf(configuration: EffectiveConfiguration): RoutingSettings {
  const { xdsServer, ingress, envoy, httpproxy, enableExternalNameService, globalExtAuth } = configuration;
  const { rateLimitService, policy, tracing } = configuration;
  const { className } = ingress;
  const { service: _service, managed: _managed, ...routed } = envoy;
  return {
    xdsServer,
    ingress: { className },
    envoy: routed,
    httpproxy,
    enableExternalNameService,
    globalExtAuth,
    rateLimitService,
    policy,
    tracing,
  };
}
