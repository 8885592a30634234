// The managed part of an object here, as one text: two objects with the same text need no write. It leaves out fields that the server fills
// in and keys that another client set. It contains the keys that we copied, so a change to one of them is corrected.
import { createHash } from 'node:crypto';
import {
  canonicalJson,
  type Endpoint,
  type EndpointSlice,
  type Endpoints,
  type KubeObject,
  type Service,
} from '@capstan/kube/cluster';
import { BACKEND_LABEL, LOAD_BALANCER_ID_LABEL, LOAD_BALANCER_NAME_LABEL, SERVICE_LABEL } from '../../kinds/group.ts';
import { copiedKeys, type Labels, MIRROR_ANNOTATION } from './metadata.ts';

/** Returns a digest of the managed part of an object, either a desired one or one that the server has. */
export function managedDigest(object: KubeObject): string {
  const { labels, annotations } = object.metadata;
  const copied = copiedKeys(annotations);
  const managed = [
    pick(labels, [...OWN_LABELS, ...(copied?.labels ?? [])]),
    pick(annotations, [MIRROR_ANNOTATION, ...(copied?.annotations ?? [])]),
    contentOf(object),
  ];
  return createHash('sha256').update(canonicalJson(managed)).digest('base64url').slice(0, 22);
}

const OWN_LABELS = [
  BACKEND_LABEL,
  SERVICE_LABEL,
  LOAD_BALANCER_ID_LABEL,
  LOAD_BALANCER_NAME_LABEL,
  'kubernetes.io/service-name',
  'endpointslice.kubernetes.io/managed-by',
  'endpointslice.kubernetes.io/skip-mirror',
];

function pick(from: Labels | undefined, keys: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const key of keys) {
    const value = from?.[key];
    if (value !== undefined) picked[key] = value;
  }
  return picked;
}

function contentOf(object: KubeObject): unknown {
  if (isService(object)) {
    const { type, clusterIP, selector, ports = [] } = object.spec ?? {};
    const shown = ports.map(({ name, port, protocol = 'TCP', appProtocol }) => ({ name, port, protocol, appProtocol }));
    return { type, clusterIP, selector, ports: shown };
  }
  if (isSlice(object)) {
    const { addressType, ports, endpoints } = object;
    // Kubernetes writes null for an empty list.
    return {
      addressType,
      ports: ports ?? [],
      endpoints: (endpoints ?? []).map((endpoint) => ({ conditions: {}, ...endpoint })),
    };
  }
  return isEndpoints(object) ? (object.subsets ?? []) : undefined;
}

function isService(object: KubeObject): object is Service {
  return object.kind === 'Service';
}
function isSlice(object: KubeObject): object is EndpointSlice {
  return object.kind === 'EndpointSlice';
}
function isEndpoints(object: KubeObject): object is Endpoints {
  return object.kind === 'Endpoints';
}

/** Addresses in a slice, or in Endpoints, that take requests. */
export function addressCount(object: KubeObject): number {
  if (isSlice(object)) return readyAddresses(object.endpoints ?? []);
  if (!isEndpoints(object)) return 0;
  return (object.subsets ?? []).reduce((sum, { addresses = [] }) => sum + addresses.length, 0);
}

/** Addresses that take requests: a missing `ready` condition counts as ready, as in Kubernetes. */
export function readyAddresses(endpoints: readonly Pick<Endpoint, 'addresses' | 'conditions'>[]): number {
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false);
  return ready.reduce((sum, { addresses }) => sum + addresses.length, 0);
}
