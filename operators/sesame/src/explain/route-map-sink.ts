// Makes the route map of a running graph available: two sinks without keys bind its derivations, and a question is evaluated in a fork.
// Nothing is computed or kept before it is asked for.
import { type Derived, derivation, type Runtime, type Sink, sink } from '@capstan/reconcile';
import type { HostSummary, RouteMap } from '../model/route-map.ts';
import type { RouteGraph } from '../routes/pieces.ts';
import type { ExplainedGateways } from './explain-gateways.ts';
import { hostSummaries, routeMaps } from './route-map.ts';

const MAP = 'route-map';
const HOSTS = 'route-map-hosts';

export function routeMapSinks(graph: RouteGraph, gateways?: ExplainedGateways): Sink[] {
  return [onRequest(MAP, routeMaps(graph, gateways)), onRequest(HOSTS, hostSummaries(graph, gateways))];
}

const noKeys = derivation<readonly string[]>({ name: 'route-map-keys', compute: () => [] });

function onRequest<Value>(name: string, of: Derived<Value>): Sink {
  return sink<Value>({ name, of, keys: noKeys, reads: [], lease: 'none', open: () => ({ take: () => undefined }) });
}

type Asked = Pick<Runtime, 'engine' | 'sinks'>;

/** The map of a host, as it is configured, or of all hosts; undefined while it is not known, or where no Sesame is in the runtime. */
export async function askRouteMap(runtime: Asked, host = '', operator?: string): Promise<RouteMap | undefined> {
  return (await ask(runtime, MAP, host, operator)) as RouteMap | undefined;
}

export async function askHostSummaries(runtime: Asked, operator?: string): Promise<readonly HostSummary[] | undefined> {
  return (await ask(runtime, HOSTS, '', operator)) as readonly HostSummary[] | undefined;
}

/** Evaluates in a fork, between two waves. */
async function ask(
  { engine, sinks }: Asked,
  name: string,
  key: string,
  operator: string | undefined,
): Promise<unknown> {
  const found = sinks.find(
    (each) => each.sink.name === name && (operator ?? each.operator.name) === each.operator.name,
  );
  if (found === undefined) return undefined;
  const settled = await engine.between(() => engine.fork().evaluateKey(found.derivation, key));
  return settled?.state === 'value' ? settled.value : undefined;
}
