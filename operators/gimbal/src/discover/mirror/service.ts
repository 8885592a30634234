// The Service that stands for a discovered one: headless and without a selector, so that only our endpoints belong to it.
import { type Service, type ServicePort, validateDns1123Label } from '@capstan/kube/cluster';
import { discoveredName } from '../names/discovered-name.ts';
import { type Labels, mirroredMetadata, type Origin } from './metadata.ts';

export interface ServiceParts {
  readonly origin: Origin;
  readonly namespace: string;
  readonly ports: readonly ServicePort[];
  /** The labels of the source. */
  readonly labels?: Labels | undefined;
  readonly annotations?: Labels | undefined;
  /** Ours, beside those of every discovered object. */
  readonly more?: Labels;
}

export function buildService({ origin, namespace, ports, labels, annotations, more }: ServiceParts): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      namespace,
      name: discoveredName(origin.backend, origin.service),
      ...mirroredMetadata(origin, { labels, annotations }, more),
    },
    spec: { type: 'ClusterIP', clusterIP: 'None', ports: ports.map(canonicalPort) },
  };
}

/** The target port means nothing without a selector; it is the port itself, as the server would fill it in. */
function canonicalPort({ name, port, protocol, appProtocol }: ServicePort): ServicePort {
  return {
    ...(name !== undefined && name !== '' && { name }),
    port,
    protocol: protocol ?? 'TCP',
    targetPort: port,
    ...(appProtocol !== undefined && { appProtocol }),
  };
}

/** Returns the problem that keeps the ports out of a Service, or undefined. */
export function portsProblem(ports: readonly ServicePort[]): string | undefined {
  const names = new Set<string>();
  const numbers = new Set<string>();
  for (const { name = '', port, protocol = 'TCP' } of ports) {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) return `the port ${port} is not between 1 and 65535`;
    if (!PROTOCOLS.has(protocol)) return `the protocol ${JSON.stringify(protocol)} of port ${port} is not supported`;
    if (name === '' && ports.length > 1) return `port ${port} has no name, and there are several ports`;
    if (name !== '' && validateDns1123Label(name).length > 0)
      return `the port name ${JSON.stringify(name)} is not valid`;
    if (name !== '' && names.has(name)) return `the port name ${JSON.stringify(name)} is there twice`;
    const number = `${port}/${protocol}`;
    if (numbers.has(number)) return `the port ${number} is there twice`;
    names.add(name);
    numbers.add(number);
  }
  return undefined;
}

const PROTOCOLS: ReadonlySet<string> = new Set(['TCP', 'UDP', 'SCTP']);
