// Addresses and node ports of Services. What is taken is what the stored Services have, so nothing else is kept: a restart
// finds the same. Allocation happens in the same step as the write, so two Services never get the same. The search goes
// round: an address that became free is given out again as late as possible, because clients may still use it. It begins
// anywhere, so that several clusters on one machine, which share its loopback addresses, hardly ever meet.
import type { Random, Service, ServicePort, ServiceSpec, UnknownObject } from '@capstan/kube';
import { type FieldError, fieldInvalid } from '../errors.ts';
import type { Store } from '../store/store.ts';

/** Loopback addresses, so that a forwarder on this machine can have them without asking anybody. */
export const SERVICE_RANGE = '127.96.0.0/12';

const FIRST_ADDRESS = toNumber('127.96.0.0');
const ADDRESSES = 2 ** 20;
/** The first is the API server's own, by convention; .0 is the network. */
const FIRST_FREE = 2;
const FIRST_PORT = 30_000;
const PORTS = 2768;

export interface ServiceAddresses {
  /** The Service with everything that it is given, or what it asks for and cannot have. */
  complete(service: UnknownObject, old: UnknownObject | undefined): { object: UnknownObject; errors: FieldError[] };
}

export function createServiceAddresses(store: Store, random: Random): ServiceAddresses {
  const addresses = new Map<string, string>();
  const ports = new Map<number, string>();
  /** Undefined until the first is given out. */
  let nextAddress: number | undefined;
  let nextPort = 0;

  const note = (key: string, object: UnknownObject, isTaken: boolean) => {
    const { clusterIPs = [], ports: list = [], healthCheckNodePort = 0 } = specOf(object);
    for (const address of clusterIPs) {
      if (!isTaken) addresses.delete(address);
      else if (address !== 'None') addresses.set(address, key);
    }
    for (const nodePort of [...list.map((port) => port.nodePort ?? 0), healthCheckNodePort]) {
      if (!isTaken) ports.delete(nodePort);
      else if (nodePort !== 0) ports.set(nodePort, key);
    }
  };
  for (const { key, object } of store.list(SERVICES, '')) {
    note(key, object, true);
    for (const address of specOf(object).clusterIPs ?? []) {
      if (inRange(address)) nextAddress = Math.max(nextAddress ?? FIRST_FREE, toNumber(address) - FIRST_ADDRESS + 1);
    }
  }
  store.subscribe(SERVICES, ({ key, object, previous, deleted }) => {
    if (previous) note(key, previous, false);
    if (!deleted) note(key, object, true);
  });

  const freeAddress = (): string | undefined => {
    const count = ADDRESSES - FIRST_FREE - 1;
    const begin = nextAddress ?? FIRST_FREE + Math.floor(random() * count);
    for (let tried = 0; tried < count; tried += 1) {
      const offset = FIRST_FREE + ((begin - FIRST_FREE + tried) % count);
      const address = toText(FIRST_ADDRESS + offset);
      if (addresses.has(address)) continue;
      nextAddress = offset + 1;
      return address;
    }
    return undefined;
  };

  const freePort = (own: ReadonlySet<number>): number | undefined => {
    for (let tried = 0; tried < PORTS; tried += 1) {
      const port = FIRST_PORT + ((nextPort + tried) % PORTS);
      if (ports.has(port) || own.has(port)) continue;
      nextPort = port - FIRST_PORT + 1;
      return port;
    }
    return undefined;
  };

  const withAddress = (key: string, spec: ServiceSpec, errors: FieldError[]): ServiceSpec => {
    const families = spec.ipFamilies ?? [];
    const other = families.findIndex((family) => family !== 'IPv4');
    const isHeadless = spec.clusterIP === 'None';
    if (other >= 0 && !isHeadless) {
      errors.push(fieldInvalid(`spec.ipFamilies[${other}]`, families[other], 'not configured on this cluster'));
    }
    if (other >= 0 && isHeadless && spec.selector) {
      // What was left open without a selector is decided as soon as there is one.
      errors.push(fieldInvalid(`spec.ipFamilies[${other}]`, families[other], 'not configured on this cluster'));
      const detail = 'this cluster is not configured for dual-stack services';
      errors.push(fieldInvalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, detail));
    }
    const ipFamilies = families.length > 0 ? families : ['IPv4'];
    const ipFamilyPolicy = spec.ipFamilyPolicy ?? 'SingleStack';
    if (isHeadless) {
      // Without a selector, the families of its pods are unknown.
      const isOpen = families.length === 0 && spec.ipFamilyPolicy === undefined && !spec.selector;
      const both = isOpen
        ? { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' }
        : { ipFamilies, ipFamilyPolicy };
      return { ...spec, clusterIP: 'None', clusterIPs: ['None'], ...both };
    }
    const wanted = spec.clusterIP ?? '';
    if (wanted !== '' && addresses.get(wanted) !== key) {
      const refuse = (why: string) =>
        errors.push(fieldInvalid('spec.clusterIPs', [wanted], `failed to allocate IP ${wanted}: ${why}`));
      if (!inRange(wanted)) {
        refuse(`the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${SERVICE_RANGE}`);
      } else if (addresses.has(wanted)) refuse('provided IP is already allocated');
    }
    const clusterIP = wanted !== '' ? wanted : freeAddress();
    if (clusterIP === undefined) {
      errors.push(fieldInvalid('spec.clusterIPs', [], 'failed to allocate a serviceIP: range is full'));
      return spec;
    }
    return { ...spec, clusterIP, clusterIPs: [clusterIP], ipFamilies, ipFamilyPolicy };
  };

  const withPorts = (key: string, spec: ServiceSpec, errors: FieldError[]): ServiceSpec => {
    const own = new Set<number>();
    // A port number may be open for TCP and for UDP: then they share their node port, as people expect of DNS.
    const byPort = new Map<string, number>();
    const list = (spec.ports ?? []).map((port, index): ServicePort => {
      const { nodePort = 0, protocol = 'TCP' } = port;
      if (nodePort === 0) {
        const twin = byPort.get(String(port.port));
        const given = twin ?? freePort(own);
        if (given === undefined) {
          errors.push(fieldInvalid(`spec.ports[${index}].nodePort`, 0, 'failed to allocate a nodePort: range is full'));
          return port;
        }
        own.add(given);
        byPort.set(String(port.port), given);
        return { ...port, nodePort: given };
      }
      const at = `spec.ports[${index}].nodePort`;
      if (nodePort < FIRST_PORT || nodePort >= FIRST_PORT + PORTS) {
        const range = `The range of valid ports is ${FIRST_PORT}-${FIRST_PORT + PORTS - 1}`;
        errors.push(fieldInvalid(at, nodePort, `provided port is not in the valid range. ${range}`));
      } else if (ports.has(nodePort) && ports.get(nodePort) !== key) {
        errors.push(fieldInvalid(at, nodePort, 'provided port is already allocated'));
      }
      own.add(nodePort);
      if (protocol !== '') byPort.set(String(port.port), nodePort);
      return port;
    });
    const withList = spec.ports ? { ...spec, ports: list } : spec;
    const needsHealth = spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
    if (!needsHealth || spec.healthCheckNodePort) return withList;
    const healthCheckNodePort = freePort(own);
    return healthCheckNodePort === undefined ? withList : { ...withList, healthCheckNodePort };
  };

  return {
    complete(service, old) {
      const errors: FieldError[] = [];
      const key = `${service.metadata.namespace}/${service.metadata.name}`;
      let spec = sameAddresses(specOf(service), old && specOf(old));
      if (old) spec = keepGiven(spec, specOf(old));
      if (spec.type === 'ExternalName') {
        // No traffic inside of the cluster goes through it.
        const { internalTrafficPolicy: _, ...rest } = withoutAddress(spec, old, specOf(service).clusterIPs);
        return { object: { ...service, spec: rest }, errors };
      }
      spec = withAddress(key, spec, errors);
      const opensPorts =
        spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
      if (opensPorts) spec = withPorts(key, spec, errors);
      return { object: { ...service, spec }, errors };
    },
  };
}

const SERVICES = '/services';

const specOf = (object: UnknownObject): ServiceSpec => (object as Service).spec ?? {};

/** The first of the addresses has a field of its own; a client that sets either of them means both. */
function sameAddresses(spec: ServiceSpec, old: ServiceSpec | undefined): ServiceSpec {
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (clusterIP !== '' && clusterIPs.length === 0) return { ...spec, clusterIPs: [clusterIP] };
  // Who takes one of the two away and leaves the other means neither.
  if (clusterIP === '' && clusterIPs[0] !== undefined && (old === undefined || clusterIPs[0] === old.clusterIPs?.[0])) {
    return { ...spec, clusterIP: clusterIPs[0] };
  }
  if (old && clusterIP !== '' && clusterIP !== old.clusterIP && clusterIPs[0] === old.clusterIPs?.[0]) {
    return { ...spec, clusterIPs: [clusterIP] };
  }
  return spec;
}

/** Who replaces a Service without saying what it was given lets it keep that, as far as its type still has it. */
function keepGiven(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  let result = spec;
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    if (!spec.clusterIP && (spec.clusterIPs ?? []).length === 0) {
      result = { ...result, ...pick(old, ['clusterIP', 'clusterIPs']) };
    }
    if (spec.ipFamilies === undefined) result = { ...result, ...pick(old, ['ipFamilies']) };
    if (spec.ipFamilyPolicy === undefined) result = { ...result, ...pick(old, ['ipFamilyPolicy']) };
  }
  const before = (port: ServicePort) =>
    old.ports?.find((one) => one.port === port.port && one.protocol === port.protocol)?.nodePort ?? 0;
  // A port is known again by its name, whatever else of it has changed.
  const taken = new Set((spec.ports ?? []).map((port) => port.nodePort ?? 0));
  const namedBefore = (port: ServicePort) => {
    const given = old.ports?.find((one) => (one.name ?? '') === (port.name ?? ''))?.nodePort ?? 0;
    return taken.has(given) ? 0 : given;
  };
  const opens = (type: string | undefined) => type === 'NodePort' || type === 'LoadBalancer';
  const isOutside = ({ type, externalIPs = [] }: ServiceSpec) =>
    opens(type) || (type === 'ClusterIP' && externalIPs.length > 0);
  if (isOutside(old) && !isOutside(spec)) result = dropSame(result, old, ['externalTrafficPolicy']);
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    result = dropSame(result, old, ['allocateLoadBalancerNodePorts', 'healthCheckNodePort', 'loadBalancerClass']);
  }
  if (!result.ports) return result;
  const ports = result.ports.map((port) => {
    const { nodePort = 0, ...rest } = port;
    if (opens(spec.type)) {
      const given = nodePort === 0 ? namedBefore(port) : 0;
      return given === 0 ? port : { ...port, nodePort: given };
    }
    // What its old type gave it goes with the type; what the request sets is checked by validation.
    return opens(old.type) && nodePort === before(port) ? rest : port;
  });
  return { ...result, ports };
}

/** Without the fields that only the old type has, unless the request sets them again. */
function dropSame(spec: ServiceSpec, old: ServiceSpec, fields: readonly (keyof ServiceSpec)[]): ServiceSpec {
  const gone = new Set<string>(fields.filter((field) => spec[field] === old[field]));
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !gone.has(field)));
}

/** `clusterIPs` are those of the request: for a Service that has no address any more they do not follow from `clusterIP`. */
function withoutAddress(
  spec: ServiceSpec,
  old: UnknownObject | undefined,
  clusterIPs: ServiceSpec['clusterIPs'],
): ServiceSpec {
  if (!old || specOf(old).type === 'ExternalName') return spec;
  const { clusterIP, clusterIPs: _addresses, ipFamilies: _families, ipFamilyPolicy: _policy, ...rest } = spec;
  const isOld = clusterIP === undefined || clusterIP === specOf(old).clusterIP;
  return isOld ? rest : { ...rest, ...(clusterIPs && { clusterIPs }), clusterIP };
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {};
  for (const key of keys) if (from[key] !== undefined) picked[key] = from[key];
  return picked;
}

function toNumber(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

function toText(number: number): string {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.');
}

function inRange(address: string): boolean {
  const offset = toNumber(address) - FIRST_ADDRESS;
  return offset > 0 && offset < ADDRESSES - 1;
}
