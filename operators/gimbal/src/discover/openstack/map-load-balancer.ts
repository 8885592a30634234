// Maps a load balancer to one Service, with a port for each listener and the members of its listeners' pools as endpoints. The Service is
// named after the id, because people rename load balancers.
import { type Endpoint, type EndpointSlice, type ServicePort, validateDns1123Label } from '@capstan/kube/cluster';
import { LOAD_BALANCER_ID_LABEL, LOAD_BALANCER_NAME_LABEL } from '../../kinds/group.ts';
import { addressProblem, addressTypeOf } from '../mirror/address.ts';
import { buildEndpoints } from '../mirror/endpoints.ts';
import { ABSENT, type Finding } from '../mirror/mirror.ts';
import type { Problem } from '../mirror/problem.ts';
import { buildService, portsProblem } from '../mirror/service.ts';
import { buildSlice, compare, type SliceParts } from '../mirror/slice.ts';
import { split } from '../mirror/split.ts';
import { discoveredName } from '../names/discovered-name.ts';
import { loadBalancerLabel } from '../names/load-balancer-name.ts';
import type { Listener, LoadBalancer, Member, Pool } from './cloud.ts';

export interface RemoteBalancer {
  readonly balancer: LoadBalancer;
  /** The project's name: the namespace here. */
  readonly project: string;
  readonly listeners: readonly Listener[];
  readonly pools: ReadonlyMap<string, Pool>;
  /** By pool. */
  readonly members: ReadonlyMap<string, readonly Member[]>;
}

/** Weights that differ between members, for people: slices have no place for them. */
export const WEIGHTS_ANNOTATION = 'openstack.gimbal.heptio.com/member-weights';

export function mapLoadBalancer(remote: RemoteBalancer, backend: string, writeEndpoints = false): Finding {
  const { balancer, project } = remote;
  if (GOING.has(balancer.provisioning)) return ABSENT;
  const id = balancer.id.toLowerCase();
  const namespace = project;
  const origin = { backend, service: id };
  const name = discoveredName(backend, id);
  const about = (type: Problem['type'], message: string): Problem => ({ type, message, namespace, name: id });
  const listeners = remote.listeners.filter(({ isUp }) => isUp).toSorted((a, b) => compare(portKey(a), portKey(b)));
  const named = listeners.map((listener) => ({ listener, port: portOf(listener, listeners) }));
  const wrong = namespaceProblem(project) ?? portsProblem(named.map(({ port }) => port));
  if (wrong !== undefined) {
    const problem = about(
      'InvalidService',
      `the load balancer ${balancer.name || id} cannot be brought here: ${wrong}`,
    );
    return { state: 'invalid', keep: true, upstreamEndpoints: 0, problems: [problem] };
  }
  const refused: string[] = [];
  const more = { [LOAD_BALANCER_ID_LABEL]: id, [LOAD_BALANCER_NAME_LABEL]: loadBalancerLabel(balancer.name) };
  let upstreamEndpoints = 0;
  const slices = named
    .flatMap(({ listener, port }) => {
      const members = membersOf(remote, listener);
      const isServed = members.some((member) => !member.isBackup && isReady(member));
      upstreamEndpoints += members.filter((member) => conditionsOf(member, isServed).ready).length;
      return slicesOf(members, listener, port, { origin, namespace, service: name, more }, refused);
    })
    .toSorted((a, b) => compare(a.metadata.name ?? '', b.metadata.name ?? ''));
  const weights = weightsOf(remote, listeners);
  const annotations = weights === undefined ? undefined : { [WEIGHTS_ANNOTATION]: weights };
  const service = buildService({ origin, namespace, ports: named.map(({ port }) => port), annotations, more });
  const built = writeEndpoints ? buildEndpoints({ origin, namespace, name, slices }) : undefined;
  return {
    state: 'present',
    mirror: { service, slices, ...(built && { endpoints: built.endpoints }) },
    upstreamEndpoints,
    invalidEndpoints: refused.length,
    problems: [...problemOf(remote, about), ...refusedProblem(refused, about)],
  };
}

/** Nothing of it is worth showing any more. */
const GOING: ReadonlySet<string> = new Set(['PENDING_DELETE', 'DELETED']);

function namespaceProblem(project: string): string | undefined {
  return validateDns1123Label(project).length > 0
    ? `the project ${JSON.stringify(project)} is no namespace`
    : undefined;
}

const portKey = ({ port, protocol, id }: Listener) => `${String(port).padStart(5, '0')}/${protocolOf(protocol)}/${id}`;

/** HTTP, HTTPS and the like are TCP to the one that connects. */
function protocolOf(protocol: string): 'TCP' | 'UDP' | 'SCTP' {
  return protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP';
}

/** `port-53`; beside a TCP listener on the same port, `port-53-udp`. */
function portOf(listener: Listener, all: readonly Listener[]): ServicePort {
  const protocol = protocolOf(listener.protocol);
  const isSecond = all.some(
    (other) => other.port === listener.port && RANK[protocolOf(other.protocol)] < RANK[protocol],
  );
  const name = `port-${listener.port}${isSecond ? `-${protocol.toLowerCase()}` : ''}`;
  return { name, port: listener.port, protocol };
}

const RANK = { TCP: 0, UDP: 1, SCTP: 2 };

/** Returns the members that a listener sends to. A listener, pool or member that is switched off sends to none. */
function membersOf({ balancer, pools, members }: RemoteBalancer, { poolId }: Listener): readonly Member[] {
  const pool = poolId === undefined ? undefined : pools.get(poolId);
  if (!balancer.isUp || pool === undefined || !pool.isUp) return [];
  return (members.get(pool.id) ?? []).filter(({ isUp, provisioning }) => isUp && !GOING.has(provisioning));
}

function slicesOf(
  members: readonly Member[],
  { port: listenerPort, protocol }: Listener,
  { name }: ServicePort,
  place: Pick<SliceParts, 'origin' | 'namespace' | 'service' | 'more'>,
  refused: string[],
): EndpointSlice[] {
  const groups = new Map<string, { addressType: 'IPv4' | 'IPv6'; port: number; endpoints: Endpoint[] }>();
  // A backup counts only when no other member can serve.
  const isServed = members.some((member) => !member.isBackup && isReady(member));
  for (const member of members) {
    const { address, port } = member;
    const why = addressProblem(address);
    if (why !== undefined || port < 1 || port > 65_535) {
      refused.push(
        why === undefined
          ? `the port ${port} of ${address} is not between 1 and 65535`
          : `${JSON.stringify(address)} ${why}`,
      );
      continue;
    }
    const addressType = addressTypeOf(address);
    const key = `${addressType}/${port}`;
    const group = groups.get(key) ?? { addressType, port, endpoints: [] };
    groups.set(key, group);
    group.endpoints.push({ addresses: [address], conditions: conditionsOf(member, isServed) });
  }
  return [...groups].flatMap(([key, { addressType, port, endpoints }]) =>
    split(endpoints, ({ addresses: [address = ''] }) => address).map(({ bits, members: some }) =>
      buildSlice({
        ...place,
        part: `listener/${listenerPort}/${protocolOf(protocol)}/${key}/${bits}`,
        addressType,
        ports: [{ name: name ?? '', port, protocol: protocolOf(protocol) }],
        endpoints: some,
      }),
    ),
  );
}

function isReady({ weight, operating }: Member): boolean {
  return weight > 0 && operating !== 'ERROR' && operating !== 'OFFLINE' && operating !== 'DRAINING';
}

/** A member without weight, or one that drains, still serves its open connections and gets no new ones. */
function conditionsOf(member: Member, isServed: boolean): NonNullable<Endpoint['conditions']> {
  const { weight, operating, isBackup } = member;
  if (operating === 'ERROR' || operating === 'OFFLINE') return { ready: false, serving: false, terminating: false };
  if (weight === 0 || operating === 'DRAINING') return { ready: false, serving: true, terminating: true };
  return { ready: !(isBackup && isServed), serving: true, terminating: false };
}

function weightsOf(remote: RemoteBalancer, listeners: readonly Listener[]): string | undefined {
  const all = listeners.flatMap((listener) => membersOf(remote, listener));
  const weights = new Map(all.map(({ address, port, weight }) => [`${address}:${port}`, weight]));
  if (new Set([...weights.values()].filter((weight) => weight > 0)).size < 2) return undefined;
  return JSON.stringify(Object.fromEntries([...weights].toSorted(([a], [b]) => compare(a, b))));
}

function problemOf({ balancer, listeners, pools }: RemoteBalancer, about: About): Problem[] {
  const broken = [
    ...(balancer.provisioning === 'ERROR' ? ['itself'] : []),
    ...listeners
      .filter(({ provisioning }) => provisioning === 'ERROR')
      .map(({ port }) => `its listener on port ${port}`),
    ...listeners
      .filter(({ poolId }) => poolId !== undefined && pools.get(poolId)?.provisioning === 'ERROR')
      .map(({ port }) => `the pool of port ${port}`),
  ];
  if (broken.length === 0) return [];
  const message = `the cloud reports that the load balancer ${balancer.name || balancer.id} is in ERROR (${broken.join(', ')}); it may still serve, so it is kept; fix it there`;
  return [about('RemoteError', message)];
}

type About = (type: Problem['type'], message: string) => Problem;

function refusedProblem(refused: readonly string[], about: About): Problem[] {
  const [first] = refused;
  if (first === undefined) return [];
  const others = refused.length === 1 ? '' : `, and ${refused.length - 1} more members cannot be used either`;
  return [about('EndpointInvalid', `the member ${first}${others}; give it an address that can be reached from here`)];
}
