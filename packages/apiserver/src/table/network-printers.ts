import type { EndpointSlice, Endpoints, Ingress, IngressClass, NetworkPolicy, Service } from '@capstan/kube';
import { type Printer, printer } from './printer.ts';
import { age, firstOf, hostPort, labelsText, nameOf, orNone, selectorText } from './text.ts';

export const networkPrinters: Readonly<Record<string, Printer>> = {
  services: printer<Service>(
    ['Name', 'Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age', 'Selector*'],
    (object, now) => {
      const { spec } = object;
      return [
        nameOf(object),
        spec?.type ?? '',
        orNone(spec?.clusterIPs?.[0] ?? spec?.clusterIP),
        externalAddress(object),
        orNone(portsText(object)),
        age(object, now),
        labelsText(spec?.selector),
      ];
    },
  ),
  endpoints: printer<Endpoints>(['Name', 'Endpoints', 'Age'], (object, now) => [
    nameOf(object),
    endpointsText(object),
    age(object, now),
  ]),
  'endpointslices.discovery.k8s.io': printer<EndpointSlice>(
    ['Name', 'AddressType', 'Ports', 'Endpoints', 'Age'],
    (object, now) => {
      const ports = (object.ports ?? []).map(({ port, name }) => String(port ?? name ?? '*'));
      const addresses = (object.endpoints ?? []).flatMap((endpoint) => endpoint.addresses);
      const listed = (list: string[]) => firstOf(list) || '<unset>';
      return [nameOf(object), object.addressType, listed(ports), listed(addresses), age(object, now)];
    },
  ),
  'ingresses.networking.k8s.io': printer<Ingress>(
    ['Name', 'Class', 'Hosts', 'Address', 'Ports', 'Age'],
    (object, now) => {
      const { spec, status } = object;
      return [
        nameOf(object),
        spec?.ingressClassName ?? '<none>',
        hostsText(spec?.rules ?? []),
        balancerText(status?.loadBalancer),
        (spec?.tls ?? []).length > 0 ? '80, 443' : '80',
        age(object, now),
      ];
    },
  ),
  'ingressclasses.networking.k8s.io': printer<IngressClass>(
    ['Name', 'Controller', 'Parameters', 'Age'],
    (object, now) => {
      const { metadata, spec } = object;
      const isDefault = metadata.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true';
      const { kind, apiGroup, name } = spec?.parameters ?? {};
      const parameters = spec?.parameters ? `${kind}${apiGroup === undefined ? '' : `.${apiGroup}`}/${name}` : '<none>';
      const own = isDefault ? `${nameOf(object)} (default)` : nameOf(object);
      return [own, spec?.controller ?? '', parameters, age(object, now)];
    },
  ),
  'networkpolicies.networking.k8s.io': printer<NetworkPolicy>(['Name', 'Pod-Selector', 'Age'], (object, now) => [
    nameOf(object),
    selectorText(object.spec?.podSelector ?? {}),
    age(object, now),
  ]),
};

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
