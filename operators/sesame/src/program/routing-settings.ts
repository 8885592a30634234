import type { EffectiveConfiguration } from '../configuration/index.ts';
import type { RoutingSettings } from '../routing/settings.ts';

/** The settings that routes depend on: an edit of any other field computes none of them again. */
export function routingSettingsOf(configuration: EffectiveConfiguration, contour = false): RoutingSettings {
  const { xdsServer, ingress, envoy, httpproxy, enableExternalNameService, globalExtAuth } = configuration;
  const { rateLimitService, policy, tracing, envoyPatches } = configuration;
  const { className } = ingress;
  const { service: _service, managed: _managed, ...routed } = envoy;
  return {
    xdsServer,
    ingress: { className, ...(contour && { contour }) },
    envoy: routed,
    httpproxy,
    enableExternalNameService,
    globalExtAuth,
    rateLimitService,
    policy,
    tracing,
    ...(envoyPatches && { envoyPatches }),
  };
}
