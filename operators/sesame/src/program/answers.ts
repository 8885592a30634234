// The answers of Sesame's own servers.
import { Session } from 'node:inspector/promises';
import { getHeapStatistics } from 'node:v8';
import { type Clock, sleep } from '@capstan/kube';
import type { Registry } from '@capstan/reconcile';
import { dagOf } from '../routes/dag.ts';
import type { DataPathView } from './data-path.ts';
import type { Answer } from './http-server.ts';
import type { SocketsOptions } from './sockets.ts';

export interface AnswersOptions {
  /** True when it serves; otherwise why not. */
  readiness(): true | string;
  readonly registry: Pick<Registry, 'expose'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The configuration in force, for the debug server. */
  configuration(): unknown;
  /** The resources for Envoys; undefined while there are none. */
  dataPath(): DataPathView | undefined;
}

export function createAnswers({
  readiness,
  registry,
  clock,
  signal,
  configuration,
  dataPath,
}: AnswersOptions): SocketsOptions['answer'] {
  return async (role, { path, query, accept }) => {
    switch (role) {
      case 'health':
        // Independent of the API server: a restart would not bring it back.
        if (path === '/health' || path === '/healthz' || path === '/livez') return { status: 200, body: 'OK\n' };
        if (path !== '/readyz') return undefined;
        return ready(readiness());
      case 'metrics': {
        if (path !== '/metrics') return undefined;
        const { contentType, body } = registry.expose(accept);
        return { status: 200, body, contentType };
      }
      case 'debug':
        return (await served(path, query, dataPath())) ?? debug(path, query, clock, signal, configuration);
    }
  };
}

async function served(
  path: string,
  query: URLSearchParams,
  view: DataPathView | undefined,
): Promise<Answer | undefined> {
  if (path !== '/debug/dag' && path !== '/debug/routes' && path !== '/debug/xds') return undefined;
  if (view === undefined) return NOT_YET;
  if (path === '/debug/xds') return json({ ...view.server.statistics(), clients: view.server.reports() });
  const host = query.get('host');
  if (path === '/debug/routes' && host === null) return known(await view.hosts(), json);
  if (path === '/debug/routes') return known(await view.routeMap(host?.toLowerCase()), json);
  return known(await view.routeMap(), (map) => ({ status: 200, body: dagOf(map), contentType: 'text/vnd.graphviz' }));
}

const NOT_YET: Answer = { status: 503, body: 'nothing is served yet\n' };

/** While caches are filled, the model is not known. */
function known<Value>(value: Value | undefined, show: (value: Value) => Answer): Answer {
  return value === undefined ? NOT_YET : show(value);
}

function ready(readiness: true | string): Answer {
  return readiness === true ? { status: 200, body: 'OK\n' } : { status: 503, body: `not ready: ${readiness}\n` };
}

const json = (value: unknown): Answer => ({
  status: 200,
  body: `${JSON.stringify(value, undefined, 2)}\n`,
  contentType: 'application/json',
});

const INDEX = `/debug/config
/debug/dag
/debug/routes
/debug/routes?host=HOST
/debug/xds
/debug/pprof/cmdline
/debug/pprof/profile?seconds=30
/debug/pprof/heap
`;
const MAX_SECONDS = 60;

async function debug(
  path: string,
  query: URLSearchParams,
  clock: Clock,
  signal: AbortSignal,
  configuration: () => unknown,
): Promise<Answer | undefined> {
  switch (path) {
    case '/debug':
    case '/debug/':
    case '/debug/pprof':
    case '/debug/pprof/':
      return { status: 200, body: INDEX };
    case '/debug/config':
      return json(configuration());
    case '/debug/pprof/cmdline':
      return { status: 200, body: `${process.argv.join('\0')}\n` };
    case '/debug/pprof/heap':
      return json({ memory: process.memoryUsage(), heap: getHeapStatistics() });
    case '/debug/pprof/profile': {
      const seconds = Number(query.get('seconds') ?? '30');
      if (!(seconds > 0 && seconds <= MAX_SECONDS))
        return { status: 400, body: `seconds must be between 1 and ${MAX_SECONDS}\n` };
      return json(await cpuProfile(seconds * 1000, clock, signal));
    }
    default:
      return undefined;
  }
}

/** In V8's format: open it in a browser's developer tools. */
async function cpuProfile(ms: number, clock: Clock, signal: AbortSignal): Promise<unknown> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await sleep(clock, ms, signal);
    return (await session.post('Profiler.stop')).profile;
  } finally {
    session.disconnect();
  }
}
