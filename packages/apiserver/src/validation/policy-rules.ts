import { BlockList } from 'node:net';
import {
  type IngressClass,
  type IngressClassParametersReference,
  type IPBlock,
  type NetworkPolicy,
  type NetworkPolicyPeer,
  type NetworkPolicyPort,
  validateDns1123Label,
  validateDns1123Subdomain,
  validatePathSegment,
  validatePortName,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import {
  cidr,
  domainPath,
  type Errors,
  fieldTooLong,
  immutable,
  labelSelector,
  named,
  parsedBlock,
  portNumber,
} from './rules.ts';

export function networkPolicy(errors: Errors, { spec }: NetworkPolicy, old: NetworkPolicy | undefined): void {
  labelSelector(errors, 'spec.podSelector', spec?.podSelector);
  const known = new Set(old ? blocksOf(old) : []);
  const rules = (field: 'ingress' | 'egress') =>
    (spec?.[field] ?? []).map((rule, index) => ({
      at: `spec.${field}[${index}]`,
      ports: rule.ports ?? [],
      side: field === 'ingress' ? 'from' : 'to',
      peers: ('from' in rule ? rule.from : 'to' in rule ? rule.to : undefined) ?? [],
    }));
  for (const { at, ports, side, peers } of [...rules('ingress'), ...rules('egress')]) {
    for (const [index, port] of ports.entries()) policyPort(errors, `${at}.ports[${index}]`, port);
    for (const [index, peer] of peers.entries()) policyPeer(errors, `${at}.${side}[${index}]`, peer, known);
  }
  const types = spec?.policyTypes ?? [];
  if (types.length > POLICY_TYPES.length) {
    errors.push(fieldInvalid('spec.policyTypes', types, 'may not specify more than two policyTypes'));
    return;
  }
  for (const [index, type] of types.entries()) {
    if (!POLICY_TYPES.includes(type)) {
      errors.push(fieldNotSupported(`spec.policyTypes[${index}]`, type, POLICY_TYPES));
    }
  }
}

const POLICY_TYPES = ['Ingress', 'Egress'];

/** Existing blocks may stay, whatever they are. */
function blocksOf({ spec }: NetworkPolicy): string[] {
  const peers = [
    ...(spec?.ingress ?? []).flatMap(({ from = [] }) => from),
    ...(spec?.egress ?? []).flatMap(({ to = [] }) => to),
  ];
  return peers.flatMap(({ ipBlock }) => (ipBlock ? [ipBlock.cidr, ...(ipBlock.except ?? [])] : []));
}

const PROTOCOLS = ['TCP', 'UDP', 'SCTP'];

function policyPort(errors: Errors, at: string, { protocol, port, endPort }: NetworkPolicyPort): void {
  if (protocol !== undefined && !PROTOCOLS.includes(protocol)) {
    errors.push(fieldNotSupported(`${at}.protocol`, protocol, PROTOCOLS));
  }
  const refuse = (value: number, detail: string) => errors.push(fieldInvalid(`${at}.endPort`, value, detail));
  if (port === undefined) {
    if (endPort !== undefined) refuse(endPort, 'may not be specified when `port` is not specified');
  } else if (typeof port === 'number') {
    portNumber(errors, `${at}.port`, port);
    if (endPort === undefined) return;
    if (endPort < port) refuse(port, 'must be greater than or equal to `port`');
    portNumber(errors, `${at}.endPort`, endPort);
  } else {
    if (endPort !== undefined) refuse(endPort, 'may not be specified when `port` is non-numeric');
    named(errors, `${at}.port`, port, validatePortName(port));
  }
}

function policyPeer(errors: Errors, at: string, peer: NetworkPolicyPeer, known: ReadonlySet<string>): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  if (podSelector) labelSelector(errors, `${at}.podSelector`, podSelector);
  if (namespaceSelector) labelSelector(errors, `${at}.namespaceSelector`, namespaceSelector);
  if (ipBlock) addressBlock(errors, `${at}.ipBlock`, ipBlock, known);
  if (!podSelector && !namespaceSelector && !ipBlock) errors.push(fieldRequired(at, 'must specify a peer'));
  else if (ipBlock && (podSelector || namespaceSelector)) {
    errors.push(fieldForbidden(at, 'may not specify both ipBlock and another peer'));
  }
}

function addressBlock(errors: Errors, at: string, given: IPBlock, known: ReadonlySet<string>): void {
  const { cidr: block = '', except = [] } = given as Partial<IPBlock>;
  if (block === '') {
    errors.push(fieldRequired(`${at}.cidr`));
    return;
  }
  const whole = parsedBlock(block);
  if (!known.has(block)) cidr(errors, `${at}.cidr`, block);
  if (!whole) return;
  const list = new BlockList();
  list.addSubnet(whole.address, whole.length, whole.family);
  for (const [index, one] of except.entries()) {
    const part = parsedBlock(one);
    const place = `${at}.except[${index}]`;
    if (!known.has(one)) cidr(errors, place, one);
    if (!part) continue;
    const isInside = part.family === whole.family && list.check(part.address, part.family);
    if (!isInside || whole.length >= part.length) {
      errors.push(fieldInvalid(place, one, 'must be a strict subset of `cidr`'));
    }
  }
}

const MAX_CONTROLLER = 250;

export function ingressClass(errors: Errors, { spec }: IngressClass, old: IngressClass | undefined): void {
  if (old) immutable(errors, 'spec.controller', spec?.controller ?? '', old.spec?.controller ?? '');
  const { controller = '', parameters } = spec ?? {};
  const at = 'spec.controller';
  if (Buffer.byteLength(controller) > MAX_CONTROLLER) errors.push(fieldTooLong(at, MAX_CONTROLLER));
  domainPath(errors, at, controller);
  if (parameters) classParameters(errors, 'spec.parameters', parameters);
}

function classParameters(errors: Errors, at: string, given: Partial<IngressClassParametersReference>): void {
  const { apiGroup, kind, name, namespace, scope } = given;
  if (apiGroup !== undefined) named(errors, `${at}.apiGroup`, apiGroup, validateDns1123Subdomain(apiGroup));
  for (const [field, value] of Object.entries({ kind, name })) {
    if (!value) errors.push(fieldRequired(`${at}.${field}`));
    else named(errors, `${at}.${field}`, value, validatePathSegment(value));
  }
  if (scope === undefined) errors.push(fieldRequired(`${at}.scope`));
  else if (scope === 'Namespace') {
    if (namespace === undefined) {
      errors.push(fieldRequired(`${at}.namespace`, "`parameters.scope` is set to 'Namespace'"));
    } else named(errors, `${at}.namespace`, namespace, validateDns1123Label(namespace));
  } else if (scope === 'Cluster') {
    if (namespace !== undefined) {
      errors.push(fieldForbidden(`${at}.namespace`, "`parameters.scope` is set to 'Cluster'"));
    }
  } else errors.push(fieldNotSupported(`${at}.scope`, scope, ['Cluster', 'Namespace']));
}
