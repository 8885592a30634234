// Maps a Service of a remote cluster and its endpoints to the objects of this cluster. Pure; the input is not changed.
import type { Endpoint, EndpointAddress, EndpointPort, EndpointSlice, Endpoints, Service } from '@capstan/kube/cluster';
import { addressTypeOf } from '../mirror/address.ts';
import { buildEndpoints } from '../mirror/endpoints.ts';
import type { Labels } from '../mirror/metadata.ts';
import { isMirror, type Origin } from '../mirror/metadata.ts';
import { ABSENT, type Finding } from '../mirror/mirror.ts';
import type { Problem } from '../mirror/problem.ts';
import { readyAddresses } from '../mirror/projection.ts';
import { buildService, portsProblem } from '../mirror/service.ts';
import { buildSlice, checkEndpoints, compare } from '../mirror/slice.ts';
import { split } from '../mirror/split.ts';
import { discoveredName } from '../names/discovered-name.ts';

export interface RemoteService {
  readonly service: Service;
  /** Where the remote cluster has slices. */
  readonly slices?: readonly EndpointSlice[];
  /** Where it has none. */
  readonly endpoints?: Endpoints | undefined;
}

export interface MapOptions {
  readonly backend: string;
  /** Default false. */
  readonly writeEndpoints?: boolean;
  /** Slices that were created before, by the slice there: one of a hundred that changed costs one. */
  readonly created?: WeakMap<EndpointSlice, EndpointSlice>;
}

/** Whether a Service is checked at all. */
export function isDiscovered({ metadata: { namespace, name, labels } }: Service): boolean {
  const isApiServer = namespace === 'default' && name === 'kubernetes';
  return !isApiServer && !isMirror(labels);
}

export function mapService(remote: RemoteService, options: MapOptions): Finding {
  const { service } = remote;
  const { namespace = '', name = '', labels, annotations } = service.metadata;
  if (!isDiscovered(service)) return ABSENT;
  const origin: Origin = { backend: options.backend, service: name };
  const about = (type: Problem['type'], message: string): Problem => ({ type, message, namespace, name });
  const parts = partsOf(remote, options.created);
  const upstreamEndpoints = parts.reduce((sum, part) => sum + part.count, 0);
  if (service.spec?.type === 'ExternalName') {
    const what = `it stands for the name ${service.spec.externalName ?? ''}, not for endpoints`;
    const problem = about(
      'ExternalNameUnsupported',
      `${what}; create a Service of type ExternalName here if it is needed`,
    );
    // There was no mistake: it has no endpoints any more, so none may be left here.
    return { state: 'invalid', keep: false, upstreamEndpoints, problems: [problem] };
  }
  const ports = service.spec?.ports ?? [];
  const isHeadless = service.spec?.clusterIP === 'None';
  const wrong = ports.length === 0 && !isHeadless ? 'it has no ports' : portsProblem(ports);
  if (wrong !== undefined) {
    const problem = about('InvalidService', `it cannot be brought here: ${wrong}; correct it in the remote cluster`);
    return { state: 'invalid', keep: true, upstreamEndpoints, problems: [problem] };
  }
  const local = discoveredName(options.backend, name);
  const slices = parts
    .flatMap((part) => part.build({ origin, namespace, service: local }))
    .toSorted((a, b) => compare(a.metadata.name ?? '', b.metadata.name ?? ''));
  const problems = refusedProblems(parts, about);
  const built = options.writeEndpoints
    ? buildEndpoints({ origin, namespace, name: local, slices, labels, annotations })
    : undefined;
  if (built !== undefined && built.leftOut > 0) {
    const message = `${built.leftOut} of its addresses are in EndpointSlices only: Endpoints hold 1000; read the slices`;
    problems.push(about('LimitExceeded', message));
  }
  return {
    state: 'present',
    mirror: {
      service: buildService({ origin, namespace, ports, labels, annotations }),
      slices,
      ...(built !== undefined && { endpoints: built.endpoints }),
    },
    upstreamEndpoints,
    invalidEndpoints: parts.reduce((sum, { refused }) => sum + refused.length, 0),
    problems,
  };
}

interface Place {
  readonly origin: Origin;
  readonly namespace: string;
  readonly service: string;
}

/** Endpoints of a service that stay together. */
interface Part {
  readonly count: number;
  readonly refused: readonly { readonly address: string; readonly why: string }[];
  build(place: Place): EndpointSlice[];
}

function partsOf({ slices, endpoints }: RemoteService, created: MapOptions['created']): Part[] {
  return slices === undefined ? partsOfEndpoints(endpoints) : slices.map((slice) => partOfSlice(slice, created));
}

const FAMILIES = ['IPv4', 'IPv6'] as const;

/** A slice there is a slice here, so a change of one slice there changes one slice here. */
function partOfSlice(slice: EndpointSlice, created: MapOptions['created']): Part {
  const { addressType, endpoints, metadata } = slice;
  // Kubernetes writes null for an empty list.
  const ports = slice.ports ?? [];
  const all = endpoints ?? [];
  const count = readyAddresses(all);
  const family = FAMILIES.find((each) => each === addressType);
  const { usable, refused } = checkEndpoints(all);
  return {
    count,
    refused,
    build(place) {
      if (family === undefined) return [];
      const before = created?.get(slice);
      if (before !== undefined) return [before];
      const { name, labels } = metadata;
      const built = buildSlice({
        ...place,
        part: `slice/${name}`,
        addressType: family,
        ports,
        endpoints: usable,
        labels,
      });
      created?.set(slice, built);
      return [built];
    },
  };
}

/** Subsets of an old cluster's Endpoints: by ports and family, and split when there are many. */
function partsOfEndpoints(endpoints: Endpoints | undefined): Part[] {
  const labels: Labels | undefined = endpoints?.metadata.labels;
  const groups = new Map<string, { ports: EndpointPort[]; all: Endpoint[] }>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of endpoints?.subsets ?? []) {
    const key = ports
      .map(({ name = '', port, protocol = 'TCP' }) => `${name}/${protocol}/${port}`)
      .toSorted()
      .join();
    const group = groups.get(key) ?? { ports, all: [] };
    groups.set(key, group);
    group.all.push(...addresses.map((each) => endpointOf(each, true)));
    group.all.push(...notReadyAddresses.map((each) => endpointOf(each, false)));
  }
  return [...groups].map(([key, { ports, all }]) => {
    const { usable, refused } = checkEndpoints(all);
    return {
      count: readyAddresses(all),
      refused,
      build: (place) =>
        FAMILIES.flatMap((addressType) => {
          const ofFamily = usable.filter(({ addresses: [ip = ''] }) => addressTypeOf(ip) === addressType);
          if (ofFamily.length === 0) return [];
          return split(ofFamily, ({ addresses: [ip = ''] }) => ip).map(({ bits, members }) => {
            const part = `subset/${key}/${addressType}/${bits}`;
            return buildSlice({ ...place, part, addressType, ports, endpoints: members, labels });
          });
        }),
    };
  });
}

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname !== undefined && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    ...(targetRef !== undefined && { targetRef }),
  };
}

/** One problem for all addresses of a service: a hundred thousand bad ones are one line. */
function refusedProblems(
  parts: readonly Part[],
  about: (type: Problem['type'], message: string) => Problem,
): Problem[] {
  const refused = parts.flatMap((part) => part.refused);
  const [first] = refused;
  if (first === undefined) return [];
  const others = refused.length === 1 ? '' : `, and ${refused.length - 1} more of its addresses cannot be used either`;
  return [
    about(
      'EndpointInvalid',
      `the address ${JSON.stringify(first.address)} ${first.why}${others}; give the endpoint an address that can be reached from here`,
    ),
  ];
}
