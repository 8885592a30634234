import type { EndpointSlice, Endpoints, Ingress, IngressClass, NetworkPolicy, Service } from '@capstan/kube';
import { type Printer, printer } from './printer.ts';
import { firstOf, hostPort, labelsText, nameOf, orNone, selectorText } from './text.ts';

export const networkPrinters: Readonly<Record<string, Printer>> = {
  services: printer<Service>([
    'Name',
    'Type = spec.type',
    ['Cluster-IP', ({ spec }) => orNone(spec?.clusterIPs?.[0] ?? spec?.clusterIP)],
    ['External-IP', externalAddress],
    ['Port(s)', (service) => orNone(portsText(service))],
    'Age',
    ['Selector*', ({ spec }) => labelsText(spec?.selector)],
  ]),
  endpoints: printer<Endpoints>(['Name', ['Endpoints', endpointsText], 'Age']),
  'endpointslices.discovery.k8s.io': printer<EndpointSlice>([
    'Name',
    'AddressType = addressType',
    ['Ports', ({ ports }) => firstOf((ports ?? []).map(({ port, name }) => String(port ?? name ?? '*'))) || '<unset>'],
    ['Endpoints', ({ endpoints }) => firstOf((endpoints ?? []).flatMap(({ addresses }) => addresses)) || '<unset>'],
    'Age',
  ]),
  'ingresses.networking.k8s.io': printer<Ingress>([
    'Name',
    'Class = spec.ingressClassName | <none>',
    ['Hosts', ({ spec }) => hostsText(spec?.rules ?? [])],
    ['Address', ({ status }) => balancerText(status?.loadBalancer)],
    ['Ports', ({ spec }) => ((spec?.tls ?? []).length > 0 ? '80, 443' : '80')],
    'Age',
  ]),
  'ingressclasses.networking.k8s.io': printer<IngressClass>([
    ['Name', (object) => (isDefault(object) ? `${nameOf(object)} (default)` : nameOf(object))],
    'Controller = spec.controller',
    ['Parameters', parametersText],
    'Age',
  ]),
  'networkpolicies.networking.k8s.io': printer<NetworkPolicy>([
    'Name',
    ['Pod-Selector', ({ spec }) => selectorText(spec?.podSelector ?? {})],
    'Age',
  ]),
};

const isDefault = ({ metadata }: IngressClass) =>
  metadata.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true';

function parametersText({ spec }: IngressClass): string {
  if (!spec?.parameters) return '<none>';
  const { kind, apiGroup, name } = spec.parameters;
  return `${kind}${apiGroup === undefined ? '' : `.${apiGroup}`}/${name}`;
}

function externalAddress({ spec, status }: Service): string {
  const own = spec?.externalIPs ?? [];
  switch (spec?.type) {
    case 'ClusterIP':
    case 'NodePort':
      return orNone(own.join(','));
    case 'LoadBalancer': {
      const given = balancerText(status?.loadBalancer);
      return [given, ...own].filter((one) => one !== '').join(',') || '<pending>';
    }
    case 'ExternalName':
      return spec.externalName ?? '';
    default:
      return '<unknown>';
  }
}

function portsText({ spec }: Service): string {
  const texts = (spec?.ports ?? []).map(({ port, nodePort, protocol = '' }) =>
    nodePort === undefined || nodePort === 0 ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
  );
  return texts.join(',');
}

function balancerText(status: { ingress?: { ip?: string; hostname?: string }[] } | undefined): string {
  const addresses = (status?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '').filter((one) => one !== '');
  return [...new Set(addresses)].sort().join(',');
}

function endpointsText({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return '<none>';
  const list = subsets.flatMap(({ addresses = [], ports = [] }) => {
    // A headless service may have none.
    if (ports.length === 0) return addresses.map(({ ip }) => ip);
    return ports.flatMap(({ port }) => addresses.map(({ ip }) => hostPort(ip, port)));
  });
  return firstOf(list);
}

function hostsText(rules: readonly { host?: string }[]): string {
  const hosts: string[] = [];
  let isMore = false;
  for (const { host = '' } of rules) {
    if (hosts.length === 3) isMore = true;
    else if (host !== '') hosts.push(host);
  }
  if (hosts.length === 0) return '*';
  // Kubernetes counts rules here, those without a host too.
  return isMore ? `${hosts.join(',')} + ${rules.length - 3} more...` : hosts.join(',');
}
