// The options of drivers, from policies and from ConfigMaps. Unknown names and bad values are refused as a whole, so that a
// misspelt vxlanID never becomes two ends that do not hear each other.
import { type FieldError, invalidField, unsupportedValue } from '@capstan/kube';
import { type DriverName, partsOf } from './driver-names.ts';

interface Option {
  /** What is wrong with a value. */
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

/** What is wrong with the options that are given for a driver. */
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
