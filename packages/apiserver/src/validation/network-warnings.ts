import type { EndpointSlice, Service } from '@capstan/kube';

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
  return warnings;
}

export function sliceWarnings({ addressType }: EndpointSlice): string[] {
  return addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : [];
}
