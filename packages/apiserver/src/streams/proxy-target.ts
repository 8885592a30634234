// Where a request for the proxy subresource of a pod or of a Service leads: pods/[SCHEME:]NAME[:PORT]/proxy/PATH, and services in the
// same way, whose port is a number or a name.
import type { Duplex } from 'node:stream';
import { type EndpointSlice, type Pod, reasonOf, type Service } from '@capstan/kube';
import { decodePath } from '../decode-path.ts';
import { badRequest, notFound, notImplemented, StatusError, serviceUnavailable } from '../errors.ts';
import type { Store } from '../store/store.ts';
import type { PodStreams } from './pod-streams.ts';

export interface ProxyPath {
  readonly namespace: string;
  readonly plural: 'pods' | 'services';
  readonly name: string;
  /** The number or name of a Service's port; empty: the first one. */
  readonly port: string;
  readonly scheme: 'http' | 'https';
  /** The path that is requested from it, with its first slash; empty without one. */
  readonly rest: string;
}

export interface ProxyTarget {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  connect(): Promise<Duplex>;
}

const PROXY = /^\/api\/v1\/namespaces\/([^/]+)\/(pods|services)\/([^/]+)\/proxy(\/.*)?$/;

/** Undefined for every other path. */
export function parseProxyPath(path: string): ProxyPath | undefined {
  const [, namespace, plural, id = '', rest = ''] = PROXY.exec(path) ?? [];
  if (namespace === undefined) return undefined;
  const parts = decodePath(id).split(':');
  const [scheme, name, port] = parts.length === 3 ? parts : ['', ...parts];
  if (parts.length > 3 || !name || (scheme !== '' && scheme !== 'http' && scheme !== 'https')) {
    throw badRequest(`invalid ${plural === 'pods' ? 'pod' : 'service'} request ${JSON.stringify(id)}`);
  }
  return {
    namespace: decodePath(namespace),
    plural: plural as ProxyPath['plural'],
    name,
    port: port ?? '',
    scheme: scheme === 'https' ? 'https' : 'http',
    rest,
  };
}

/** Finds the pod, or one behind the Service that is ready; throws a StatusError, of a simulated pod too. */
export async function findProxyTarget(
  store: Store,
  streams: PodStreams | undefined,
  path: ProxyPath,
): Promise<ProxyTarget> {
  const { namespace, name, plural, scheme } = path;
  const object = store.get(`/${plural}`, `${namespace}/${name}`);
  if (!object) throw notFound({ group: '', resource: plural }, name);
  const place = plural === 'pods' ? { pod: name, port: podPort(object, path.port) } : endpointOf(store, object, path);
  if (streams === undefined) {
    throw notImplemented(`pod ${JSON.stringify(place.pod)}: proxy is not available; nothing on this server runs pods`);
  }
  try {
    const open = await streams.portForward({ namespace, name: place.pod, container: undefined });
    return { scheme, host: `${place.pod}:${place.port}`, connect: () => open(place.port) };
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw serviceUnavailable(`error trying to reach service: ${reasonOf(error)}`);
  }
}

function podPort({ spec }: Pod, wanted: string): number {
  if (wanted !== '') return checked(wanted);
  const first = spec?.containers.flatMap(({ ports = [] }) => ports)[0]?.containerPort;
  return first ?? 80;
}

function checked(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw badRequest(`unable to parse "${text}" as a port`);
  return port;
}

function endpointOf(store: Store, service: Service, { namespace, name, port: wanted }: ProxyPath) {
  const ports = service.spec?.ports ?? [];
  const chosen = wanted === '' ? ports[0] : ports.find((one) => one.name === wanted || String(one.port) === wanted);
  if (!chosen)
    throw serviceUnavailable(`no service port ${JSON.stringify(wanted)} found for service ${JSON.stringify(name)}`);
  const slices = store
    .list('discovery.k8s.io/endpointslices', `${namespace}/`)
    .map(({ object }) => object as unknown as EndpointSlice)
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === name);
  for (const slice of slices) {
    const port = slice.ports?.find((one) => (one.name ?? '') === (chosen.name ?? ''))?.port;
    const ready = slice.endpoints?.find(
      ({ conditions, targetRef }) => conditions?.ready !== false && targetRef?.kind === 'Pod',
    );
    if (port !== undefined && ready?.targetRef?.name) return { pod: ready.targetRef.name, port };
  }
  throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
}
