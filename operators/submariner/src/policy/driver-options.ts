// The options of drivers, from policies and from ConfigMaps. Unknown names and bad values are refused as a whole, so that a
// misspelt vxlanID never becomes two ends that do not hear each other.
import { type FieldError, invalidField, parseDuration, unsupportedValue } from '@capstan/kube';
import { type DriverName, partsOf } from './driver-names.ts';

interface Option {
  /** Returns the problem of a value. */
  problem(value: string): string | undefined;
  /** Both ends must have the same value. */
  readonly shared?: boolean;
}

const between = (low: number, high: number): Option['problem'] => {
  return (value) =>
    /^\d+$/.test(value) && Number(value) >= low && Number(value) <= high
      ? undefined
      : `must be between ${low} and ${high}, inclusive`;
};
const port = between(1, 65535);
const proposals = (value: string) =>
  /^[a-z0-9]+(-[a-z0-9_]+)*(,\s*[a-z0-9]+(-[a-z0-9_]+)*)*$/.test(value)
    ? undefined
    : 'must be proposals such as aes256gcm16-prfsha256-ecp256, separated by commas';
const lifetime = (value: string) => {
  try {
    if (parseDuration(value) >= 1000) return undefined;
  } catch {
    // It is reported below.
  }
  return 'must be a duration of at least 1s, such as 720h';
};
const truth = (value: string) => (value === 'true' || value === 'false' ? undefined : 'must be true or false');

const OPTIONS: Readonly<Record<DriverName, Readonly<Record<string, Option>>>> = {
  vxlan: {
    vxlanID: { problem: between(1, 16_777_215), shared: true },
    port: { problem: port, shared: true },
    mtu: { problem: between(576, 9000) },
  },
  wireguard: {
    port: { problem: port },
    keepalive: { problem: between(0, 65535) },
    keyLifetime: { problem: lifetime },
    mtu: { problem: between(576, 9000) },
  },
  ipsec: {
    ikeProposals: { problem: proposals, shared: true },
    espProposals: { problem: proposals, shared: true },
    forceEncaps: { problem: truth },
    dpdDelay: { problem: between(1, 3600) },
    port: { problem: port },
    mtu: { problem: between(576, 9000) },
  },
  'vxlan+ipsec': {},
  none: {},
};

/** The options of a driver by name; a combined one has those of its parts. */
export function optionsOf(driver: DriverName): ReadonlyMap<string, Option> {
  return new Map(partsOf(driver).flatMap((part) => Object.entries(OPTIONS[part])));
}

/** The names of the options that both ends must share. */
export function sharedOptionsOf(driver: DriverName): string[] {
  return [...optionsOf(driver)].flatMap(([name, { shared }]) => (shared ? [name] : []));
}

/**
 * The options of one driver among those of a gateway. A name counts for every driver that has such an option; with the
 * driver's name before a dot (`wireguard.port`) for that one alone. `port` by itself is that of vxlan.
 */
export function ownOptionsOf(driver: DriverName, given: Readonly<Record<string, string>>): Record<string, string> {
  const own: Record<string, string> = {};
  for (const part of partsOf(driver))
    for (const name of Object.keys(OPTIONS[part])) {
      const plain = name === 'port' && part !== 'vxlan' ? undefined : given[name];
      const value = given[`${part}.${name}`] ?? plain;
      if (value !== undefined) own[name] = value;
    }
  // The VXLAN link of a combined cable is inside the tunnel: its port is fixed.
  if (driver === 'vxlan+ipsec') delete own['port'];
  const port = driver === 'vxlan+ipsec' ? given['ipsec.port'] : undefined;
  return port === undefined ? own : { ...own, port };
}

/** Returns the problems of the options of a gateway, which are those of all its drivers. */
export function validateGatewayOptions(given: Readonly<Record<string, string>>): FieldError[] {
  return Object.entries(given).flatMap(([field, value]) => {
    const dot = field.indexOf('.');
    const [driver, name] = dot < 0 ? [undefined, field] : [field.slice(0, dot), field.slice(dot + 1)];
    const options = Object.entries(OPTIONS).flatMap(([each, known]) =>
      (driver === undefined || driver === each) && known[name] !== undefined ? [known[name]] : [],
    );
    if (options.length === 0) return [unsupportedValue(field, field, GATEWAY_OPTIONS)];
    const problem = options.map((option) => option.problem(value)).find((each) => each !== undefined);
    return problem === undefined ? [] : [invalidField(field, value, problem)];
  });
}

const GATEWAY_OPTIONS = [...new Set(Object.values(OPTIONS).flatMap((known) => Object.keys(known)))].toSorted();

/** Returns the problems of the options that are given for a driver. */
export function validateOptions(
  driver: DriverName,
  data: Readonly<Record<string, string>>,
  path: string,
): FieldError[] {
  const known = optionsOf(driver);
  return Object.entries(data).flatMap(([name, value]) => {
    const field = `${path}[${name}]`;
    const option = known.get(name);
    if (option === undefined) return [unsupportedValue(field, name, [...known.keys()].toSorted())];
    const problem = option.problem(value);
    return problem === undefined ? [] : [invalidField(field, value, problem)];
  });
}
