import type { ExplainAnswer, IngressAnswer, IngressHost, IngressRoute } from '../../api-types.ts';
import { count } from '../logic/relative-time.ts';
import { linkToObject, parseObjectId } from '../logic/routes.ts';
import { Glyph } from '../parts/glyph.tsx';
import { type DrawnEdge, type DrawnNode, GraphView } from '../parts/graph-view.tsx';
import { Nothing, Panel } from '../parts/panel.tsx';
import { withQuery } from '../state/location.ts';

const TITLES = ['Listener', 'Host', 'Routes, in the order of Envoy', 'Service', 'Endpoints'];
const MOST_HOSTS = 60;

interface Drawing {
  readonly nodes: Map<string, DrawnNode>;
  readonly edges: Map<string, DrawnEdge>;
}

/** From the listener to the endpoints. The path of a tested request is marked. */
export function IngressMap({ data, tested }: { data: IngressAnswer; tested: ExplainAnswer | undefined }) {
  const { nodes, edges } = draw(data, tested);
  return (
    <Panel
      title="From the listener to the endpoints"
      more={
        <span class="legend">
          <span class="lit">
            <i />
            the tested request
          </span>
          <span class="bad">
            <i />
            problem
          </span>
        </span>
      }
      {...(data.hostCount > data.hosts.length && {
        note: `${data.hosts.length} of ${data.hostCount} hosts are drawn, those with problems first.`,
      })}
    >
      {data.hosts.length === 0 ? (
        <Nothing
          glyph="none"
          title="No host yet"
          text="Start with a route to one of your Services. You see its effects before anything is written."
        >
          <a class="button primary" href="/plan">
            Plan a first route
          </a>
        </Nothing>
      ) : (
        <GraphView
          nodes={[...nodes.values()]}
          edges={[...edges.values()]}
          columns={TITLES}
          label={`${count(data.listeners.length, 'listener')}, ${count(data.hostCount, 'host')} and their routes, Services and endpoints.`}
        />
      )}
    </Panel>
  );
}

function draw(data: IngressAnswer, tested: ExplainAnswer | undefined): Drawing {
  const drawing: Drawing = { nodes: new Map(), edges: new Map() };
  for (const { name, address } of data.listeners)
    drawing.nodes.set(`listener ${name}`, {
      id: `listener ${name}`,
      layer: 0,
      over: name,
      name: address,
      state: 'ready',
    });
  for (const host of data.hosts.slice(0, MOST_HOSTS)) drawHost(drawing, host);
  light(drawing, tested);
  return drawing;
}

function drawHost(
  { nodes, edges }: Drawing,
  { host, isServed, from, problems, routeCount, listeners }: IngressHost,
): void {
  const id = `host ${host}`;
  const tone = problems.length === 0 ? '' : isServed ? 'warn' : 'bad';
  nodes.set(id, {
    id,
    layer: 1,
    over: from[0]?.replace(/^(\w+)\.\S+ /, '$1 ') ?? count(routeCount, 'route'),
    name: host,
    ...(problems.length > 0 && { under: problems[0] ?? '' }),
    state: tone === '' ? 'ready' : tone === 'warn' ? 'warning' : 'broken',
    link: withQuery({ host }),
  });
  for (const { name, routes } of listeners) {
    addEdge(edges, `listener ${name}`, id, tone);
    routes.forEach((one, at) => drawRoute({ nodes, edges }, id, `${host} ${at}`, one));
  }
  if (listeners.length === 0)
    for (const [node] of nodes) if (node.startsWith('listener ')) addEdge(edges, node, id, tone);
}

function drawRoute(
  { nodes, edges }: Drawing,
  hostId: string,
  name: string,
  { match, from, field, answer, services }: IngressRoute,
): void {
  const id = `route ${name}`;
  const place = from === undefined ? undefined : parseRouteSource(from);
  nodes.set(id, {
    id,
    layer: 2,
    over: field ?? from ?? '',
    name: match,
    ...(answer !== undefined && { under: answer }),
    state: 'none',
    ...(place !== undefined && { link: linkToObject(place) }),
  });
  addEdge(edges, hostId, id, '');
  for (const { cluster, service, share, endpoints } of services) {
    const serviceId = `service ${cluster}`;
    const endpointId = `endpoints ${cluster}`;
    const isEmpty = endpoints.length === 0;
    nodes.set(serviceId, {
      id: serviceId,
      layer: 3,
      over: nodes.has(serviceId) ? 'several routes' : `${Math.round(share * 10) / 10} %`,
      name: service,
      state: share === 0 ? 'warning' : 'ready',
    });
    nodes.set(endpointId, {
      id: endpointId,
      layer: 4,
      over: isEmpty ? 'no endpoint' : count(endpoints.length, 'endpoint'),
      name: isEmpty ? 'no pod is ready' : (endpoints[0] ?? ''),
      state: isEmpty ? 'broken' : 'ready',
    });
    addEdge(edges, id, serviceId, isEmpty ? 'bad' : '');
    addEdge(edges, serviceId, endpointId, isEmpty ? 'bad' : '');
  }
}

function addEdge(edges: Map<string, DrawnEdge>, from: string, to: string, tone: DrawnEdge['tone']): void {
  edges.set(`${from} ${to}`, { from, to, ...(tone !== undefined && { tone }) });
}

/** `HTTPProxy default/shop`, as routes name their source. */
function parseRouteSource(from: string) {
  const place = parseObjectId(from);
  if (place === undefined || place.kind.includes('.')) return place;
  const group = place.kind.endsWith('Route')
    ? 'gateway.networking.k8s.io'
    : place.kind === 'Ingress'
      ? 'networking.k8s.io'
      : 'projectsesame.io';
  return { ...place, kind: `${place.kind}.${group}` };
}

/** Marks the way of the tested request: the first route that is taken, its Services and endpoints. */
function light({ nodes, edges }: Drawing, tested: ExplainAnswer | undefined): void {
  if (tested?.servedAs === undefined) return;
  const way = new Set<string>();
  for (const { name, routes } of tested.listeners) {
    const [taken] = routes;
    if (taken === undefined) continue;
    way.add(`listener ${name}`);
    way.add(`host ${tested.servedAs}`);
    for (const [id, node] of nodes)
      if (id.startsWith(`route ${tested.servedAs} `) && node.name === taken.match) way.add(id);
    for (const { cluster, share } of taken.services) {
      if (share === 0) continue;
      way.add(`service ${cluster}`);
      way.add(`endpoints ${cluster}`);
    }
  }
  for (const id of way) {
    const node = nodes.get(id);
    if (node !== undefined) nodes.set(id, { ...node, tone: 'lit' });
  }
  for (const [key, edge] of edges) if (way.has(edge.from) && way.has(edge.to)) edges.set(key, { ...edge, tone: 'lit' });
}

export function HostTable({ data: { hosts, hostCount } }: { data: IngressAnswer }) {
  return (
    <Panel
      title="Hosts"
      count={hostCount}
      {...(hostCount > hosts.length && { note: `The first ${hosts.length} are shown, those with problems first.` })}
    >
      <div class="scroll" tabIndex={0} role="region" aria-label="Hosts">
        <table>
          <thead>
            <tr>
              <th scope="col">Host</th>
              <th scope="col" class="wide">
                From
              </th>
              <th scope="col">Routes</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {hosts.map(({ host, isServed, from, problems, routeCount }) => (
              <tr key={host}>
                <td>
                  <a class="name" href={withQuery({ host, view: 'map' })} data-row>
                    {host}
                  </a>
                </td>
                <td class="wide soft">{from.map((id) => id.replace(/^(\w+)\.\S+ /, '$1 ')).join(', ')}</td>
                <td>{routeCount}</td>
                <td class={isServed ? 'soft' : 'bad'}>
                  <Glyph state={problems.length === 0 ? 'ready' : isServed ? 'warning' : 'broken'} isNamed />{' '}
                  {problems.length === 0 ? 'Served' : problems.join('; ')}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
