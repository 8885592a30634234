import { isIP } from 'node:net';
import type { ServiceSpec } from '@capstan/kube';
import { type FieldError, fieldInvalid } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { fieldDuplicate, ipAddress, supported } from '../validation/rules.ts';

const FAMILIES = ['IPv4', 'IPv6'];
const POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];

/** The families of a Service's addresses, of which this cluster has one: IPv4. */
export function withFamilies(given: ServiceSpec, old: ServiceSpec | undefined, errors: FieldError[]): ServiceSpec {
  const isHeadless = given.clusterIP === 'None';
  const isOpen = isHeadless && Object.keys(given.selector ?? {}).length === 0;
  const ipFamilyPolicy = given.ipFamilyPolicy ?? old?.ipFamilyPolicy ?? (isOpen ? 'RequireDualStack' : 'SingleStack');
  let spec: ServiceSpec = { ...given, ipFamilyPolicy };
  addressErrors(errors, spec);
  if (errors.length > 0) return spec;
  const wrongPolicy = (detail: string) => errors.push(fieldInvalid('spec.ipFamilyPolicy', ipFamilyPolicy, detail));
  const isSingle = ipFamilyPolicy === 'SingleStack';
  if (old && isSingle && (spec.ipFamilies ?? []).length > 1 && equalJson(spec.ipFamilies, old.ipFamilies)) {
    spec = { ...spec, ipFamilies: (spec.ipFamilies ?? []).slice(0, 1) };
  }
  if (old && !isSingle && (old.ipFamilies ?? []).length === 2 && (spec.ipFamilies ?? []).length === 1) {
    wrongPolicy("must be 'SingleStack' to release the secondary IP family");
  }
  if (isSingle && (spec.clusterIPs ?? []).length === 2) {
    wrongPolicy("must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified");
  }
  if (isSingle && (spec.ipFamilies ?? []).length === 2) {
    wrongPolicy("must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified");
  }
  const families = [...(spec.ipFamilies ?? [])];
  for (const [index, address] of (isHeadless ? [] : (spec.clusterIPs ?? [])).entries()) {
    if (index < families.length) continue;
    if (isIP(address) === 4) families.push('IPv4');
    else
      errors.push(fieldInvalid(`spec.clusterIPs[${index}]`, spec.clusterIPs, 'IPv6 is not configured on this cluster'));
  }
  if (errors.length > 0) return spec;
  if (families.length === 0) families.push('IPv4');
  // Without a selector, the families of its endpoints are unknown.
  if (isOpen) {
    if (families.length === 1 && !isSingle) families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4');
    return { ...spec, ipFamilies: families };
  }
  if (ipFamilyPolicy === 'RequireDualStack') wrongPolicy('this cluster is not configured for dual-stack services');
  for (const [index, family] of families.entries()) {
    if (family === 'IPv4') continue;
    errors.push(fieldInvalid(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster'));
  }
  return { ...spec, ipFamilies: families };
}

/** Returns the errors of addresses and their families by themselves. */
function addressErrors(errors: FieldError[], spec: ServiceSpec): void {
  const { clusterIP = '', clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  const wrong = (detail: string) => errors.push(fieldInvalid('spec.clusterIPs', clusterIPs, detail));
  if (clusterIP !== '' && clusterIPs.length > 0 && clusterIPs[0] !== clusterIP)
    wrong('first value must match `clusterIP`');
  if (clusterIP === '' && clusterIPs.length > 0) wrong('must be empty when `clusterIP` is not specified');
  const seen = new Set<string>();
  for (const [index, family] of ipFamilies.entries()) {
    supported(errors, `spec.ipFamilies[${index}]`, family, FAMILIES);
    if (seen.has(family)) errors.push(fieldDuplicate(`spec.ipFamilies[${index}]`, family));
    seen.add(family);
  }
  supported(errors, 'spec.ipFamilyPolicy', ipFamilyPolicy, POLICIES);
  const isHeadless = clusterIPs[0] === 'None';
  let hasWrong = isHeadless && clusterIPs.length > 1;
  if (hasWrong) wrong("'None' must be the first and only value");
  for (const [index, address] of clusterIPs.entries()) {
    if (index === 0 && isHeadless) continue;
    if (!ipAddress(errors, `spec.clusterIPs[${index}]`, address)) hasWrong = true;
  }
  if (clusterIPs.length > 2) wrong('may only hold up to 2 values');
  if (hasWrong || isHeadless) return;
  const kinds = clusterIPs.map((address) => `IPv${isIP(address)}`);
  if (kinds.length > 1 && (kinds.length > 2 || kinds[0] === kinds[1])) {
    wrong('may specify no more than one IP for each IP family');
  }
  for (const [index, kind] of kinds.entries()) {
    const family = ipFamilies[index];
    if (family === undefined || !FAMILIES.includes(family) || family === kind) continue;
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
    errors.push(fieldInvalid(`spec.clusterIPs[${index}]`, clusterIPs[index], detail));
  }
}
