import type { EndpointSlice, Ingress, Service } from '@capstan/kube';

/** Fields of a Service that are accepted and have no effect. */
export function serviceWarnings({ spec }: Service): string[] {
  const warnings: string[] = [];
  const isHeadless = spec?.clusterIP === 'None';
  const hasExternal = (spec?.externalIPs ?? []).length > 0;
  if (isHeadless) {
    if (spec.loadBalancerIP) warnings.push('spec.loadBalancerIP is ignored for headless services');
    if (hasExternal) warnings.push('spec.externalIPs is ignored for headless services');
    if (spec.sessionAffinity !== undefined && spec.sessionAffinity !== 'None') {
      warnings.push('spec.SessionAffinity is ignored for headless services');
    }
  }
  const isAlias = spec?.type === 'ExternalName';
  if (hasExternal && !isHeadless && !isAlias) {
    warnings.push('spec.externalIPs is deprecated and may no longer be implemented in some clusters');
  }
  if (hasExternal && isAlias) warnings.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!isAlias && spec?.externalName)
    warnings.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  if (spec?.trafficDistribution === 'PreferClose') {
    warnings.push('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"');
  }
  return warnings;
}

/** The annotation that named the class before there was a field for it. */
export const INGRESS_CLASS = 'kubernetes.io/ingress.class';

export function ingressWarnings({ metadata, spec }: Ingress): string[] {
  if (metadata.annotations?.[INGRESS_CLASS] === undefined || spec?.ingressClassName !== undefined) return [];
  return [`annotation ${JSON.stringify(INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead`];
}

export function sliceWarnings({ addressType }: EndpointSlice): string[] {
  return addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : [];
}
