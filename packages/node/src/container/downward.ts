// The downward API: fields of a pod, and the resources of its containers.
import { type Container, type Node, type Pod, parseQuantity } from '@capstan/kube';

export interface Facts {
  pod: Pod;
  podIP: string;
  hostIP: string;
}

/** Undefined for a field that cannot be referred to. */
export function fieldValue(path: string, { pod, podIP, hostIP }: Facts): string | undefined {
  const { metadata, spec } = pod;
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (keyed !== null) return metadata[keyed[1] === 'labels' ? 'labels' : 'annotations']?.[keyed[2] ?? ''] ?? '';
  switch (path) {
    case 'metadata.name':
      return metadata.name ?? '';
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    case 'metadata.labels':
      return formatMap(metadata.labels);
    case 'metadata.annotations':
      return formatMap(metadata.annotations);
    case 'spec.nodeName':
      return spec?.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec?.serviceAccountName ?? 'default';
    case 'status.podIP':
    case 'status.podIPs':
      return podIP;
    case 'status.hostIP':
    case 'status.hostIPs':
      return hostIP;
    default:
      return undefined;
  }
}

function formatMap(map: Readonly<Record<string, string>> = {}): string {
  return Object.entries(map)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}

/** Returns `limits.cpu` and the like, in units of the divisor, rounded up. Without a limit, the capacity of the node counts. */
export function resourceValue(
  resource: string,
  divisor: string | number | undefined,
  container: Container,
  allocatable: NonNullable<Node['status']>['allocatable'],
): string | undefined {
  const [kind = '', ...rest] = resource.split('.');
  const name = rest.join('.');
  if (kind !== 'limits' && kind !== 'requests') return undefined;
  const { limits, requests } = container.resources ?? {};
  const given = kind === 'limits' ? limits?.[name] : (requests?.[name] ?? limits?.[name]);
  const quantity = given ?? (kind === 'limits' ? (allocatable?.[name] ?? 0) : 0);
  const unit = parseQuantity(divisor === undefined || String(divisor) === '0' ? 1 : divisor).nanos;
  if (unit <= 0n) return undefined;
  const { nanos } = parseQuantity(quantity);
  return String((nanos + unit - 1n) / unit);
}
