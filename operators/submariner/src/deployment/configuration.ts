// Reads a Submariner's spec for gateways: names of drivers, the ConfigMap of driver options, the Secrets, and all problems and unused
// fields.
import { isJsonObject } from '@capstan/kube';
import type { SubmarinerSpec } from '../kinds/index.ts';
import { BUILT_IN_DRIVER, DRIVER_NAMES, type DriverName, driverNameOf } from '../policy/driver-names.ts';

export interface GatewayConfiguration {
  /** All drivers that gateways offer. The one of the default policy is the first. */
  readonly drivers: readonly DriverName[];
  readonly customConfig: { readonly name: string; readonly namespace: string | undefined } | undefined;
  readonly customConfigPath: string;
  readonly pskSecret: string | undefined;
  readonly brokerSecret: string | undefined;
  /** Secrets in clear text in the resource. They are moved into Secret objects. */
  readonly inline: { readonly psk: string | undefined; readonly brokerToken: string | undefined };
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** Folders at which the Secrets of a gateway are mounted, each under its name. */
export const PSK_MOUNT = '/var/run/secrets/submariner.io';
export const BROKER_MOUNT = '/run/secrets/submariner.io';
export const PSK_SECRET = 'submariner-gateway-psk';
export const BROKER_SECRET = 'submariner-gateway-broker';
const CUSTOM_CONFIG_PATH = '/etc/submariner/cable-driver-config';

/** Fields of components that are not part of this operator. */
const NOT_ACTED_ON = [
  'colorCodes',
  'loadBalancerEnabled',
  'serviceDiscoveryEnabled',
  'customDomains',
  'coreDNSCustomConfig',
  'clustersetIPEnabled',
  'clustersetIPCIDR',
  'globalCIDR',
  'repository',
] as const;

export function gatewayConfiguration(spec: SubmarinerSpec): GatewayConfiguration {
  const problems: string[] = [];
  const warnings: string[] = [];
  const drivers = driversOf(spec, problems);
  for (const field of NOT_ACTED_ON) {
    const value = spec[field];
    const isSet =
      value !== undefined && value !== false && value !== '' && !(Array.isArray(value) && value.length === 0);
    if (isSet) warnings.push(`spec.${field}: is not acted on; remove it`);
  }
  const { ceIPSecPSK, ceIPSecPSKSecret, brokerK8sApiServerToken, brokerK8sSecret } = spec;
  if (ceIPSecPSK !== undefined && ceIPSecPSK !== '')
    warnings.push(`spec.ceIPSecPSK: a secret in clear, moved into the Secret ${PSK_SECRET}; use ceIPSecPSKSecret`);
  if (brokerK8sApiServerToken !== undefined && brokerK8sApiServerToken !== '')
    warnings.push(
      `spec.brokerK8sApiServerToken: a secret in clear, moved into the Secret ${BROKER_SECRET}; use brokerK8sSecret`,
    );
  const psk = ceIPSecPSKSecret === undefined && ceIPSecPSK !== '' ? ceIPSecPSK : undefined;
  const brokerToken =
    brokerK8sSecret === undefined && brokerK8sApiServerToken !== '' ? brokerK8sApiServerToken : undefined;
  return {
    drivers,
    customConfig: customConfigOf(spec.cableDriverCustomConfig, problems),
    customConfigPath: spec.cableDriverCustomConfigPath ?? CUSTOM_CONFIG_PATH,
    pskSecret: ceIPSecPSKSecret ?? (psk === undefined ? undefined : PSK_SECRET),
    brokerSecret: brokerK8sSecret ?? (brokerToken === undefined ? undefined : BROKER_SECRET),
    inline: { psk, brokerToken },
    problems,
    warnings,
  };
}

/** Returns the drivers. cableDriver alone gives one driver, as in the present release. Other drivers are offered in addition. */
export function driversOf(
  {
    cableDriver,
    cableDrivers = [],
    combinedCableDrivers = [],
  }: Pick<SubmarinerSpec, 'cableDriver' | 'cableDrivers' | 'combinedCableDrivers'>,
  problems: string[] = [],
): DriverName[] {
  const found = new Set<DriverName>();
  const add = (text: string, field: string) => {
    const name = driverNameOf(text);
    if (name === undefined || name === 'none')
      problems.push(
        `spec.${field}: cable driver "${text}" is not known; use one of ${DRIVER_NAMES.filter((each) => each !== 'none').join(', ')}`,
      );
    else found.add(name);
  };
  if (cableDriver !== undefined && cableDriver !== '') add(cableDriver, 'cableDriver');
  for (const each of cableDrivers) add(each, 'cableDrivers');
  const named = combinedCableDrivers.filter((each) => each.includes('+'));
  const parts = combinedCableDrivers.filter((each) => !each.includes('+'));
  for (const each of named) add(each, 'combinedCableDrivers');
  if (parts.length === 1)
    problems.push(`spec.combinedCableDrivers: a combination has two drivers (${parts[0]}); name both`);
  if (parts.length > 1) add(parts.join('+'), 'combinedCableDrivers');
  if (found.size === 0 && problems.length === 0) found.add(BUILT_IN_DRIVER);
  return [...found];
}

function customConfigOf(given: unknown, problems: string[]): GatewayConfiguration['customConfig'] {
  if (given === undefined || given === null || given === '') return undefined;
  if (typeof given === 'string') return { name: given, namespace: undefined };
  const { configMapName: name, namespace } = isJsonObject(given) ? given : {};
  if (typeof name === 'string' && (namespace === undefined || typeof namespace === 'string'))
    return { name, namespace };
  problems.push('spec.cableDriverCustomConfig: must be the name of a ConfigMap or {configMapName, namespace}');
  return undefined;
}
