// Addresses and node ports of Services. The stored Services are the only record of taken ones, so a restart finds the same. Allocation
// happens in the same step as the write, so two Services never get the same. The search goes round: a freed address is used again as late
// as possible, because clients may still use it. The search begins at a random place, so that several clusters on one machine, which share
// its loopback addresses, hardly ever meet.
import type { Random, Service, ServicePort, ServiceSpec, UnknownObject } from '@capstan/kube';
import { type FieldError, fieldInvalid, requestError, serviceUnavailable } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import type { Store } from '../store/store.ts';
import { withFamilies } from './service-families.ts';
import { createServicePool, type ServicePool } from './service-pool.ts';

/** Loopback addresses, so that a forwarder on this machine can have them without asking anybody. */
export const SERVICE_RANGE = '127.96.0.0/12';

const FIRST_ADDRESS = toNumber('127.96.0.0');
const ADDRESSES = 2 ** 20;
/** The first is the API server's own, by convention; .0 is the network. */
const FIRST_FREE = 2;
const FIRST_PORT = 30_000;
const PORTS = 2768;

export interface ServiceAddresses {
  /** Returns the Service with all allocated values, or errors for the requested values that it cannot have. */
  complete(service: UnknownObject, old: UnknownObject | undefined): { object: UnknownObject; errors: FieldError[] };
}

/** Clusters that are given the same pool never draw the same values. */
export function createServiceAddresses(
  store: Store,
  random: Random,
  pool: ServicePool = createServicePool(),
): ServiceAddresses {
  const addresses = new Map<string, string>();
  const ports = new Map<number, string>();
  /** Undefined until the first is given out. */
  let nextAddress: number | undefined;
  let nextPort = 0;

  const note = (key: string, object: UnknownObject, isTaken: boolean) => {
    const { clusterIPs = [], ports: list = [], healthCheckNodePort = 0 } = specOf(object);
    for (const address of clusterIPs) {
      if (address === 'None') continue;
      pool.addresses[isTaken ? 'take' : 'release'](address);
      if (isTaken) addresses.set(address, key);
      else addresses.delete(address);
    }
    for (const nodePort of [...list.map((port) => port.nodePort ?? 0), healthCheckNodePort]) {
      if (nodePort === 0) continue;
      pool.ports[isTaken ? 'take' : 'release'](nodePort);
      if (isTaken) ports.set(nodePort, key);
      else ports.delete(nodePort);
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
      if (pool.addresses.has(address)) continue;
      nextAddress = offset + 1;
      return address;
    }
    return undefined;
  };

  const freePort = (own: ReadonlySet<number>): number | undefined => {
    for (let tried = 0; tried < PORTS; tried += 1) {
      const port = FIRST_PORT + ((nextPort + tried) % PORTS);
      if (pool.ports.has(port) || own.has(port)) continue;
      nextPort = port - FIRST_PORT + 1;
      return port;
    }
    return undefined;
  };

  const withAddress = (spec: ServiceSpec, errors: FieldError[], isNamed: boolean): ServiceSpec => {
    const wanted = spec.clusterIP ?? '';
    if (wanted === 'None') return spec;
    if (!isNamed) {
      // Kubernetes writes an IPAddress that refers to the Service by its name.
      const address = wanted || (freeAddress() ?? '');
      const why = `IPAddress.networking.k8s.io "${address}" is invalid: spec.parentRef.name: Required value`;
      errors.push(fieldInvalid('spec.clusterIPs', [wanted], `failed to allocate IP: ${why}`));
      return spec;
    }
    if (wanted !== '') {
      const refuse = (why: string) =>
        errors.push(fieldInvalid('spec.clusterIPs', [wanted], `failed to allocate IP ${wanted}: ${why}`));
      if (!inRange(wanted)) {
        refuse(`the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${SERVICE_RANGE}`);
      } else if (addresses.has(wanted)) refuse('provided IP is already allocated');
      else if (pool.addresses.has(wanted)) {
        refuse('provided IP is already allocated to a Service of another cluster on this machine');
      }
      return spec;
    }
    const clusterIP = freeAddress();
    if (clusterIP !== undefined) return { ...spec, clusterIP, clusterIPs: [clusterIP] };
    errors.push(fieldInvalid('spec.clusterIPs', [], 'failed to allocate a serviceIP: range is full'));
    return spec;
  };

  /** Why a port cannot be had; undefined: it is ours now, in `own`. */
  const takePort = (port: number, own: Set<number>): string | undefined => {
    if (port < FIRST_PORT || port >= FIRST_PORT + PORTS) {
      const range = `The range of valid ports is ${FIRST_PORT}-${FIRST_PORT + PORTS - 1}`;
      return `provided port is not in the valid range. ${range}`;
    }
    if (ports.has(port) || own.has(port)) return 'provided port is already allocated';
    own.add(port);
    return undefined;
  };

  const drawPort = (own: Set<number>): number => {
    const port = freePort(own);
    if (port === undefined) throw serviceUnavailable('failed to allocate a nodePort: range is full');
    own.add(port);
    return port;
  };

  /**
   * A port number of a new Service may be open for TCP and for UDP: then they share their node port, as people expect of
   * DNS. A port that is added later gets one of its own.
   */
  const withNewPorts = (spec: ServiceSpec, own: Set<number>, errors: FieldError[]): ServiceSpec => {
    const byPort = new Map<number, number>();
    const askedFor = new Map<number, number>();
    for (const { port, nodePort } of spec.ports ?? [])
      if (nodePort && !askedFor.has(port)) askedFor.set(port, nodePort);
    const list: ServicePort[] = [];
    for (const [index, port] of (spec.ports ?? []).entries()) {
      const { nodePort = 0 } = port;
      const shared = byPort.get(port.port);
      const asked = nodePort || (askedFor.get(port.port) ?? 0);
      if (nodePort === 0 && !drawsPorts(spec)) list.push(port);
      else if (shared !== undefined && (nodePort === 0 || nodePort === shared))
        list.push({ ...port, nodePort: shared });
      else {
        const given = asked === 0 ? drawPort(own) : asked;
        const problem = asked === 0 ? undefined : takePort(asked, own);
        if (problem !== undefined) {
          errors.push(fieldInvalid(`spec.ports[${index}].nodePort`, asked, problem));
          return spec;
        }
        if (shared === undefined) byPort.set(port.port, given);
        list.push({ ...port, nodePort: given });
      }
    }
    return { ...spec, ports: list };
  };

  const withChangedPorts = (
    spec: ServiceSpec,
    old: ServiceSpec,
    own: Set<number>,
    errors: FieldError[],
  ): ServiceSpec => {
    const before = new Set(nodePortsOf(old));
    const seen = new Set<string>();
    const list: ServicePort[] = [];
    for (const [index, port] of (spec.ports ?? []).entries()) {
      const { nodePort = 0, protocol = '' } = port;
      if (nodePort === 0 && !drawsPorts(spec)) {
        list.push(port);
        continue;
      }
      const given = nodePort === 0 ? drawPort(own) : nodePort;
      const isKnown = nodePort === 0 || before.has(nodePort) || own.has(nodePort);
      const problem = isKnown ? undefined : takePort(nodePort, own);
      if (problem !== undefined) {
        errors.push(fieldInvalid(`spec.ports[${index}].nodePort`, nodePort, problem));
        return spec;
      }
      if (seen.has(`${protocol} ${given}`)) throw requestError(`duplicate nodePort: {${protocol} ${given}}`);
      seen.add(`${protocol} ${given}`);
      list.push({ ...port, nodePort: given });
    }
    return { ...spec, ports: list };
  };

  const withHealthPort = (spec: ServiceSpec, old: ServiceSpec | undefined, own: Set<number>): ServiceSpec => {
    if (!needsHealth(spec) || (old && needsHealth(old))) return spec;
    const { healthCheckNodePort: wanted = 0 } = spec;
    if (wanted === 0) return { ...spec, healthCheckNodePort: drawPort(own) };
    const problem = takePort(wanted, own);
    if (problem === undefined) return spec;
    throw requestError(`failed to allocate requested HealthCheck NodePort ${wanted}: ${problem}`);
  };

  /** Each step relies on the checks of the earlier ones. */
  const completed = (
    given: ServiceSpec,
    old: ServiceSpec | undefined,
    errors: FieldError[],
    isNamed: boolean,
  ): ServiceSpec => {
    let spec = sameAddresses(old ? keepGiven(given, old) : given, old);
    if (spec.type !== 'ExternalName') {
      spec = withFamilies(spec, old, errors);
      if (errors.length === 0 && (!old || old.type === 'ExternalName')) spec = withAddress(spec, errors, isNamed);
    }
    const own = new Set<number>();
    if (errors.length === 0 && opens(spec) && spec.ports) {
      spec = old ? withChangedPorts(spec, old, own, errors) : withNewPorts(spec, own, errors);
    }
    if (errors.length > 0) return spec;
    spec = withHealthPort(spec, old, own);
    return old ? withoutFormer(spec, old) : spec;
  };

  return {
    complete(service, old) {
      const errors: FieldError[] = [];
      const { name = '', generateName = '' } = service.metadata;
      const isNamed = name !== '' || generateName !== '';
      const spec = completed(specOf(service), old && specOf(old), errors, isNamed);
      if (spec.type !== 'ExternalName') return { object: { ...service, spec }, errors };
      // No traffic inside of the cluster goes through it.
      const { internalTrafficPolicy: _, ...rest } = spec;
      return { object: { ...service, spec: rest }, errors };
    },
  };
}

const SERVICES = '/services';

const specOf = (object: UnknownObject): ServiceSpec => (object as Service).spec ?? {};

const opens = ({ type }: ServiceSpec) => type === 'NodePort' || type === 'LoadBalancer';

/** Whether ports that name no node port get one. */
const drawsPorts = ({ type, allocateLoadBalancerNodePorts: draws }: ServiceSpec) =>
  type === 'NodePort' || (type === 'LoadBalancer' && draws !== false);

const needsHealth = ({ type, externalTrafficPolicy: policy }: ServiceSpec) =>
  type === 'LoadBalancer' && policy === 'Local';

const isOutside = (spec: ServiceSpec) =>
  opens(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);

const nodePortsOf = ({ ports }: ServiceSpec) => (ports ?? []).flatMap(({ nodePort = 0 }) => nodePort || []);

/** The first of the addresses has a field of its own; a client that sets either of them means both. */
function sameAddresses(spec: ServiceSpec, old: ServiceSpec | undefined): ServiceSpec {
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (!old) return clusterIP !== '' && clusterIPs.length === 0 ? { ...spec, clusterIPs: [clusterIP] } : spec;
  const { clusterIP: before = '', clusterIPs: all = [] } = old;
  if (clusterIP === before) return clusterIPs.length === 0 && all.length > 0 ? { ...spec, clusterIPs: all } : spec;
  if (!equalJson(clusterIPs, all)) return spec;
  // Who takes one of the two away and leaves the other means neither.
  return { ...spec, clusterIPs: clusterIP === '' && before !== '' ? [] : [clusterIP] };
}

/** A Service with an address is always read with the list of its addresses. */
export function withClusterIPs(service: UnknownObject): UnknownObject {
  const spec = specOf(service);
  if (!spec.clusterIP || (spec.clusterIPs ?? []).length > 0) return service;
  return { ...service, spec: { ...spec, clusterIPs: [spec.clusterIP] } };
}

/** A replaced Service keeps its allocated values if the request leaves them out, as far as its type still has them. */
function keepGiven(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  let result = spec;
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    if (!spec.clusterIP) result = { ...result, ...pick(old, ['clusterIP']) };
    if ((spec.clusterIPs ?? []).length === 0) result = { ...result, ...pick(old, ['clusterIPs']) };
  }
  if (drawsPorts(old) && drawsPorts(spec) && result.ports) {
    // A port is known again by its name, whatever else of it has changed.
    const taken = new Set(nodePortsOf(spec));
    const byName = new Map((old.ports ?? []).map(({ name = '', nodePort = 0 }) => [name, nodePort]));
    const ports = result.ports.map((port) => {
      const given = byName.get(port.name ?? '') ?? 0;
      return port.nodePort || given === 0 || taken.has(given) ? port : { ...port, nodePort: given };
    });
    result = { ...result, ports };
  }
  if (needsHealth(old) && needsHealth(spec) && !spec.healthCheckNodePort) {
    result = { ...result, ...pick(old, ['healthCheckNodePort']) };
  }
  return result;
}

/** Removes the values that only the old type has, unless the request sets them to something else. */
function withoutFormer(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const gone: (keyof ServiceSpec)[] = [];
  if (old.type !== 'ExternalName' && spec.type === 'ExternalName') {
    const isSame = spec.clusterIP === old.clusterIP && equalJson(spec.clusterIPs, old.clusterIPs);
    if (isSame) gone.push('clusterIP', 'clusterIPs');
    gone.push(...unchanged(spec, old, ['ipFamilies', 'ipFamilyPolicy']));
  }
  if (needsHealth(old) && !needsHealth(spec)) gone.push(...unchanged(spec, old, ['healthCheckNodePort']));
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    gone.push(...unchanged(spec, old, ['allocateLoadBalancerNodePorts', 'loadBalancerClass']));
  }
  if (isOutside(old) && !isOutside(spec)) gone.push(...unchanged(spec, old, ['externalTrafficPolicy']));
  const names = new Set<string>(gone);
  const rest: ServiceSpec = Object.fromEntries(Object.entries(spec).filter(([field]) => !names.has(field)));
  if (!rest.ports || !opens(old) || opens(spec)) return rest;
  const before = new Set(nodePortsOf(old));
  if (!nodePortsOf(spec).every((port) => before.has(port))) return rest;
  return { ...rest, ports: rest.ports.map(withoutNodePort) };
}

function withoutNodePort(port: ServicePort): ServicePort {
  const { nodePort: _, ...rest } = port;
  return rest;
}

function unchanged(spec: ServiceSpec, old: ServiceSpec, fields: readonly (keyof ServiceSpec)[]): (keyof ServiceSpec)[] {
  return fields.filter((field) => equalJson(spec[field], old[field]));
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
