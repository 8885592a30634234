import { isIP } from 'node:net';
import {
  type EndpointSlice,
  type Endpoints,
  type Ingress,
  type IngressBackend,
  type Service,
  type ServicePort,
  type ServiceSpec,
  validateDns1123Label,
  validateDns1123Subdomain,
  validatePortName,
  validateQualifiedName,
  validateWildcardDns1123Subdomain,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { INGRESS_CLASS } from './network-warnings.ts';
import {
  cidr,
  type Errors,
  endpointAddress,
  fieldDuplicate,
  fieldTooMany,
  immutable,
  ipAddress,
  labels,
  named,
  oneOf,
  PROTOCOLS,
  portNumber,
  portNumberOrName,
  supported,
} from './rules.ts';

const SERVICE_TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

/** Addresses and their families have been checked when they were given out. */
export function service(errors: Errors, { spec, metadata }: Service, old: Service | undefined): void {
  const { type = '', ports = [], clusterIPs = [], externalIPs = [] } = spec ?? {};
  if (old) serviceUpdate(errors, spec ?? {}, old.spec ?? {});
  const isHeadless = clusterIPs[0] === 'None';
  if (ports.length === 0 && !isHeadless && type !== 'ExternalName') errors.push(fieldRequired('spec.ports'));
  if (isHeadless && (type === 'LoadBalancer' || type === 'NodePort')) {
    errors.push(fieldInvalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${type} services`));
  }
  if (type === 'ExternalName') externalName(errors, spec ?? {});
  servicePorts(errors, ports);
  labels(errors, 'spec.selector', spec?.selector);
  sessionAffinity(errors, spec ?? {});
  for (const [index, address] of externalIPs.entries()) {
    const at = `spec.externalIPs[${index}]`;
    if (ipAddress(errors, at, address)) endpointAddress(errors, at, address);
  }
  oneOf(errors, 'spec.type', type, SERVICE_TYPES);
  takenPorts(errors, ports, type);
  sourceRanges(errors, spec ?? {}, metadata.annotations?.[SOURCE_RANGES], old);
  const isBalanced = type === 'LoadBalancer';
  const onlyBalanced = (field: string) =>
    errors.push(fieldForbidden(`spec.${field}`, "may only be used when `type` is 'LoadBalancer'"));
  if (spec?.allocateLoadBalancerNodePorts !== undefined && !isBalanced) onlyBalanced('allocateLoadBalancerNodePorts');
  const className = spec?.loadBalancerClass;
  if (className !== undefined && !isBalanced) onlyBalanced('loadBalancerClass');
  else if (className !== undefined) {
    named(errors, 'spec.loadBalancerClass', className, validateQualifiedName(className));
  }
  trafficPolicies(errors, spec ?? {});
}

function externalName(errors: Errors, spec: ServiceSpec): void {
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  const not = (field: string) =>
    errors.push(fieldForbidden(`spec.${field}`, 'may not be set for ExternalName services'));
  if ((spec.clusterIPs ?? []).length > 0) not('clusterIPs');
  if ((spec.ipFamilies ?? []).length > 0) not('ipFamilies');
  if (spec.ipFamilyPolicy !== undefined) not('ipFamilyPolicy');
  if (name === '') errors.push(fieldRequired('spec.externalName'));
  else named(errors, 'spec.externalName', name, validateDns1123Subdomain(name));
}

function sessionAffinity(errors: Errors, { sessionAffinity: affinity, sessionAffinityConfig: config }: ServiceSpec) {
  oneOf(errors, 'spec.sessionAffinity', affinity, ['ClientIP', 'None']);
  if (affinity === 'None' && config) {
    const detail = 'must not be set when session affinity is None';
    errors.push(fieldForbidden('spec.sessionAffinityConfig', detail));
  }
  const timeout = config?.clientIP?.timeoutSeconds;
  if (affinity === 'ClientIP' && timeout !== undefined && (timeout <= 0 || timeout > 86_400)) {
    const field = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds';
    errors.push(fieldInvalid(field, timeout, 'must be greater than 0 and less than 86400'));
  }
}

const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges';

/** Who may reach a load balancer: a field, or the annotation that it was before. */
function sourceRanges(errors: Errors, spec: ServiceSpec, note: string | undefined, old: Service | undefined): void {
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const isField = ranges.length > 0;
  if (!isField && note === undefined) return;
  const path = isField ? 'spec.LoadBalancerSourceRanges' : `metadata.annotations[${SOURCE_RANGES}]`;
  if (spec.type !== 'LoadBalancer') {
    errors.push(fieldForbidden(path, "may only be used when `type` is 'LoadBalancer'"));
  }
  const known = new Set((old?.spec?.loadBalancerSourceRanges ?? []).map((one) => one.trim()));
  if (isField) {
    for (const [index, one] of ranges.entries()) {
      if (!known.has(one.trim())) cidr(errors, `${path}[${index}]`, one.trim());
    }
  } else if (note !== old?.metadata.annotations?.[SOURCE_RANGES] && note?.trim()) {
    for (const one of note.trim().split(',')) cidr(errors, path, one.trim());
  }
}

function trafficPolicies(errors: Errors, spec: ServiceSpec): void {
  const { type, externalTrafficPolicy: policy, healthCheckNodePort: health = 0 } = spec;
  const isOutside =
    type === 'NodePort' || type === 'LoadBalancer' || (type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0);
  if (isOutside) oneOf(errors, 'spec.externalTrafficPolicy', policy, ['Cluster', 'Local']);
  else if (policy) {
    const detail = 'may only be set for externally-accessible services';
    errors.push(fieldInvalid('spec.externalTrafficPolicy', policy, detail));
  }
  const at = 'spec.healthCheckNodePort';
  if (type === 'LoadBalancer' && policy === 'Local') {
    if (health === 0) errors.push(fieldRequired(at));
    else portNumber(errors, at, health);
  } else if (health !== 0) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    errors.push(fieldInvalid(at, health, detail));
  }
  supported(errors, 'spec.internalTrafficPolicy', spec.internalTrafficPolicy, ['Cluster', 'Local']);
  supported(errors, 'spec.trafficDistribution', spec.trafficDistribution, [
    'PreferClose',
    'PreferSameZone',
    'PreferSameNode',
  ]);
}

export function serviceStatus(errors: Errors, { spec, status }: Service): void {
  if ((status?.loadBalancer?.ingress ?? []).length > 0 && spec?.type !== 'LoadBalancer') {
    const detail = "may only be used when `spec.type` is 'LoadBalancer'";
    errors.push(fieldForbidden('status.loadBalancer.ingress', detail));
  }
}

const FIXED = 'may not change once set';

function serviceUpdate(errors: Errors, spec: ServiceSpec, old: ServiceSpec): void {
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    fixedAddresses(errors, spec, old);
    const isHeadless = (one: ServiceSpec) => one.clusterIPs?.[0] === 'None';
    const [families = [], before = []] = [spec.ipFamilies, old.ipFamilies];
    if (!isHeadless(spec) && !isHeadless(old) && before[0] !== undefined && families[0] !== before[0]) {
      errors.push(fieldInvalid('spec.ipFamilies[0]', families, FIXED));
    }
  }
  if (spec.type === 'LoadBalancer' && old.type === 'LoadBalancer') {
    if (spec.loadBalancerClass !== old.loadBalancerClass) {
      errors.push(fieldInvalid('spec.loadBalancerClass', spec.loadBalancerClass, FIXED));
    }
    const isLocal = spec.externalTrafficPolicy === 'Local' && old.externalTrafficPolicy === 'Local';
    if (isLocal && spec.healthCheckNodePort !== old.healthCheckNodePort) {
      errors.push(fieldForbidden('spec.healthCheckNodePort', 'field is immutable'));
    }
  }
}

function fixedAddresses(errors: Errors, { clusterIPs = [], ipFamilyPolicy }: ServiceSpec, old: ServiceSpec): void {
  const { clusterIPs: before = [] } = old;
  if (clusterIPs.length === 0 && before.length > 0) {
    errors.push(fieldInvalid('spec.clusterIPs[0]', clusterIPs, 'primary clusterIP can not be unset'));
    return;
  }
  for (const [index, address] of before.entries()) {
    const isCompared = index === 0 || clusterIPs.length === before.length;
    if (isCompared && address !== clusterIPs[index]) {
      errors.push(fieldInvalid(`spec.clusterIPs[${index}]`, clusterIPs, FIXED));
    }
  }
  if (before.length > clusterIPs.length && clusterIPs.length === 1 && ipFamilyPolicy !== 'SingleStack') {
    const detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
    errors.push(fieldInvalid('spec.ipFamilyPolicy', ipFamilyPolicy, detail));
  }
}

function servicePorts(errors: Errors, ports: readonly ServicePort[]): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `spec.ports[${index}]`;
    const { name = '', protocol = '' } = port;
    if (name === '' && ports.length > 1) errors.push(fieldRequired(`${at}.name`));
    else if (name !== '') {
      named(errors, `${at}.name`, name, validateDns1123Label(name));
      if (names.has(name)) errors.push(fieldDuplicate(`${at}.name`, name));
      names.add(name);
    }
    portNumber(errors, `${at}.port`, port.port);
    oneOf(errors, `${at}.protocol`, protocol, PROTOCOLS);
    if (port.targetPort !== undefined) portNumberOrName(errors, `${at}.targetPort`, port.targetPort);
    if (port.appProtocol !== undefined) {
      named(errors, `${at}.appProtocol`, port.appProtocol, validateQualifiedName(port.appProtocol));
    }
  }
}

/** Ports that are not to be had, or twice. */
function takenPorts(errors: Errors, ports: readonly ServicePort[], type: string): void {
  const each = [...ports.entries()].map(([index, port]) => ({ at: `spec.ports[${index}]`, ...port }));
  const asked = each.filter(({ nodePort = 0 }) => nodePort !== 0);
  if (type === 'ClusterIP') {
    const detail = "may not be used when `type` is 'ClusterIP'";
    for (const { at } of asked) errors.push(fieldForbidden(`${at}.nodePort`, detail));
  }
  const idOf = (protocol = '', port = 0) => `${protocol}/${port}`;
  for (const { at, nodePort } of repeated(asked, ({ protocol, nodePort: port }) => idOf(protocol, port))) {
    errors.push(fieldDuplicate(`${at}.nodePort`, nodePort));
  }
  for (const { at, protocol = '', port } of repeated(each, (one) => idOf(one.protocol, one.port))) {
    const shown = { Name: '', Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 };
    errors.push(fieldDuplicate(at, shown));
  }
}

/** Those whose id another had before them. */
function repeated<T>(list: readonly T[], idOf: (one: T) => string): T[] {
  const seen = new Set<string>();
  return list.filter((one) => {
    const id = idOf(one);
    return seen.has(id) || !seen.add(id);
  });
}

export function endpoints(errors: Errors, { subsets = [] }: Endpoints): void {
  for (const [index, subset] of subsets.entries()) {
    const at = `subsets[${index}]`;
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    if (addresses.length + notReadyAddresses.length === 0) {
      errors.push(fieldRequired(at, 'must specify `addresses` or `notReadyAddresses`'));
    }
    for (const [field, list] of Object.entries({ addresses, notReadyAddresses })) {
      for (const [place, address] of list.entries()) {
        const path = `${at}.${field}[${place}]`;
        const isAddress = ipAddress(errors, `${path}.ip`, address.ip);
        if (address.hostname)
          named(errors, `${path}.hostname`, address.hostname, validateDns1123Label(address.hostname));
        if (address.nodeName !== undefined) {
          named(errors, `${path}.nodeName`, address.nodeName, validateDns1123Subdomain(address.nodeName));
        }
        if (isAddress) endpointAddress(errors, `${path}.ip`, address.ip);
        else errors.push(fieldInvalid(`${path}.ip`, address.ip, 'must be a valid IP address'));
      }
    }
    for (const [place, port] of ports.entries()) {
      const path = `${at}.ports[${place}]`;
      if (ports.length > 1 && !port.name) errors.push(fieldRequired(`${path}.name`));
      else if (port.name) named(errors, `${path}.name`, port.name, validateDns1123Label(port.name));
      portNumber(errors, `${path}.port`, port.port);
      oneOf(errors, `${path}.protocol`, port.protocol, PROTOCOLS);
      if (port.appProtocol !== undefined) {
        named(errors, `${path}.appProtocol`, port.appProtocol, validateQualifiedName(port.appProtocol));
      }
    }
  }
}

const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6'];
const MAX_ENDPOINTS = 1000;
const MAX_ADDRESSES = 100;
const MAX_PORTS = 20_000;

export function endpointSlice(errors: Errors, slice: EndpointSlice, old: EndpointSlice | undefined): void {
  const { addressType, endpoints: list = [], ports = [] } = slice;
  oneOf(errors, 'addressType', addressType, ADDRESS_TYPES);
  // Addresses of an unknown or forbidden type cannot be checked.
  const isJudged = ADDRESS_TYPES.includes(addressType) && (!old || !equalJson(list, old.endpoints ?? []));
  if (ports.length > MAX_PORTS) errors.push(fieldTooMany('ports', ports.length, MAX_PORTS));
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `ports[${index}]`;
    const { name = '' } = port;
    if (name !== '') named(errors, `${at}.name`, name, validateDns1123Label(name));
    if (names.has(name)) errors.push(fieldDuplicate(`${at}.name`, name));
    names.add(name);
    oneOf(errors, `${at}.protocol`, port.protocol, PROTOCOLS);
  }
  if (list.length > MAX_ENDPOINTS) errors.push(fieldTooMany('endpoints', list.length, MAX_ENDPOINTS));
  for (const [index, endpoint] of list.slice(0, MAX_ENDPOINTS).entries()) {
    const at = `endpoints[${index}].addresses`;
    const addresses = endpoint.addresses ?? [];
    if (addresses.length === 0) errors.push(fieldRequired(at, 'must contain at least 1 address'));
    if (addresses.length > MAX_ADDRESSES) errors.push(fieldTooMany(at, addresses.length, MAX_ADDRESSES));
    if (isJudged) {
      for (const [place, address] of addresses.entries()) sliceAddress(errors, at, place, address, addressType);
    }
    if (endpoint.hostname !== undefined) {
      named(errors, `endpoints[${index}].hostname`, endpoint.hostname, validateDns1123Label(endpoint.hostname));
    }
  }
  if (old) immutable(errors, 'addressType', addressType, old.addressType);
}

function sliceAddress(errors: Errors, path: string, index: number, address: string, type: string): void {
  const at = `${path}[${index}]`;
  if (type === 'FQDN') {
    named(errors, at, address, validateDns1123Subdomain(address.replace(/\.$/, '')));
    return;
  }
  if (!ipAddress(errors, at, address)) return;
  if (type !== `IPv${isIP(address)}`) errors.push(fieldInvalid(path, address, `must be an ${type} address`));
  endpointAddress(errors, at, address);
}

export function ingress(errors: Errors, { spec, metadata }: Ingress, old: Ingress | undefined): void {
  const { rules = [], tls = [], defaultBackend, ingressClassName } = spec ?? {};
  if (rules.length === 0 && !defaultBackend) {
    errors.push(fieldInvalid('spec', spec?.rules, 'either `defaultBackend` or `rules` must be specified'));
  }
  if (defaultBackend) backend(errors, 'spec.defaultBackend', defaultBackend);
  for (const [index, rule] of rules.entries()) {
    const at = `spec.rules[${index}]`;
    if (rule.host) {
      if (isIP(rule.host) !== 0) {
        errors.push(fieldInvalid(`${at}.host`, rule.host, 'must be a DNS name, not an IP address'));
      }
      named(errors, `${at}.host`, rule.host, hostProblems(rule.host));
    }
    if (rule.http && (rule.http.paths ?? []).length === 0) errors.push(fieldRequired(`${at}.http.paths`));
    for (const [place, path] of (rule.http?.paths ?? []).entries()) {
      ingressPath(errors, `${at}.http.paths[${place}]`, path);
    }
  }
  for (const [index, one] of tls.entries()) {
    for (const [place, host] of (one.hosts ?? []).entries()) {
      named(errors, `spec.tls[${index}].hosts[${place}]`, host, hostProblems(host));
    }
    if (one.secretName) {
      named(errors, `spec.tls[${index}].secretName`, one.secretName, validateDns1123Subdomain(one.secretName));
    }
  }
  const noted = metadata.annotations?.[INGRESS_CLASS];
  if (!old && noted !== undefined && ingressClassName !== undefined && noted !== ingressClassName) {
    const detail = 'must match `ingressClassName` when both are specified';
    errors.push(fieldInvalid(`annotations.${INGRESS_CLASS}`, noted, detail));
  }
  if (ingressClassName !== undefined) {
    named(errors, 'spec.ingressClassName', ingressClassName, validateDns1123Subdomain(ingressClassName));
  }
}

const hostProblems = (host: string) =>
  host.includes('*') ? validateWildcardDns1123Subdomain(host) : validateDns1123Subdomain(host);

const BAD_SEQUENCES = ['//', '/./', '/../', '%2f', '%2F'];
const BAD_ENDINGS = ['/..', '/.'];

function ingressPath(
  errors: Errors,
  at: string,
  { path = '', pathType, backend: to }: { path?: string; pathType?: string; backend?: IngressBackend },
): void {
  if (!pathType) {
    errors.push(fieldRequired(`${at}.pathType`, 'pathType must be specified'));
    return;
  }
  if (pathType === 'Exact' || pathType === 'Prefix') {
    if (!path.startsWith('/')) errors.push(fieldInvalid(`${at}.path`, path, 'must be an absolute path'));
    for (const bad of BAD_SEQUENCES) {
      if (path.includes(bad)) errors.push(fieldInvalid(`${at}.path`, path, `must not contain '${bad}'`));
    }
    for (const bad of BAD_ENDINGS) {
      if (path.endsWith(bad)) errors.push(fieldInvalid(`${at}.path`, path, `cannot end with '${bad}'`));
    }
  } else if (pathType === 'ImplementationSpecific') {
    if (path !== '' && !path.startsWith('/')) errors.push(fieldInvalid(`${at}.path`, path, 'must be an absolute path'));
  } else {
    errors.push(fieldNotSupported(`${at}.pathType`, pathType, ['Exact', 'ImplementationSpecific', 'Prefix']));
  }
  backend(errors, `${at}.backend`, to ?? {});
}

function backend(errors: Errors, at: string, { service: to, resource }: IngressBackend): void {
  if (resource && to) errors.push(fieldInvalid(at, '', 'cannot set both resource and service backends'));
  else if (resource) {
    if (!resource.kind) errors.push(fieldRequired(`${at}.resource.kind`));
    if (!resource.name) errors.push(fieldRequired(`${at}.resource.name`));
  } else if (to) {
    if (!to.name) errors.push(fieldRequired(`${at}.service.name`));
    else named(errors, `${at}.service.name`, to.name, validateDns1123Label(to.name));
    const { name = '', number = 0 } = to.port ?? {};
    if (name !== '' && number !== 0) errors.push(fieldInvalid(at, '', 'cannot set both port name & port number'));
    else if (name !== '') named(errors, `${at}.service.port.name`, name, validatePortName(name));
    else if (number !== 0) portNumber(errors, `${at}.service.port.number`, number);
    else errors.push(fieldRequired(at, 'port name or number is required'));
  } else errors.push(fieldInvalid(at, '', 'resource or service backend is required'));
}
