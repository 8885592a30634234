// `sesame explain HOST[/PATH]`: reads the cluster as Sesame does, and computes the routes of one host.
import { randomBytes } from 'node:crypto';
import { isNotFound, silentLogger, systemClock } from '@capstan/kube';
import { alwaysLeader, createRuntime, type Derived, derivation, operator, sink } from '@capstan/reconcile';
import {
  command,
  formatReport,
  type Io,
  objectName,
  REPORT_OUTPUT,
  type Refusal,
  refuse,
  UsageErrors,
  withCluster,
} from '@capstan/reconcile/command-line';
import { effectiveConfiguration } from '../configuration/index.ts';
import {
  type ExplainedRequest,
  type Explanation,
  explanationKey,
  explanations,
  settingsOnly,
} from '../explain/explain.ts';
import { explanationText } from '../explain/explanation-text.ts';
import { servedGatewayKinds } from '../gateway/api/served-kinds.ts';
import { type GatewayKinds, gatewayComponents, type Placement, type Publication } from '../gateway/index.ts';
import { SesameConfiguration } from '../kinds/index.ts';
import { routingSettingsOf } from '../program/routing-settings.ts';
import { routeGraph } from '../routes/pieces.ts';
import { ROUTE_READS } from '../routing/lookup.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { CommandErrors } from './errors.ts';
import { SESAME_CLUSTER_OPTIONS, sesameNamespace } from './namespace.ts';

export default command({
  usage: 'explain HOST[/PATH] [--method METHOD] [--header NAME: VALUE]... [-o FORMAT]',
  description:
    'Explains what Envoy does with a request: the listeners of HTTPProxies and Ingresses and of each Gateway, their filters, the routes\n' +
    'for the path in their order, the objects that they come from, and the Services with their endpoints. With a method or a header the\n' +
    'request is known whole, with its query, and routes whose conditions do not hold are left out. Exit code 1 when nothing serves the\n' +
    'host.',
  examples: [
    'sesame explain shop.example.com/cart',
    "sesame explain 'shop.example.com/cart?id=1' --method POST --header 'x-user: anna'",
    'sesame explain shop.example.com -o json',
  ],
  positionals: 1,
  options: {
    ...SESAME_CLUSTER_OPTIONS,
    'sesame-config': {
      type: 'string',
      value: 'NAME',
      default: 'sesame',
      help: 'The SesameConfiguration; defaults are used where there is none.',
    },
    'gateway-controller-name': {
      type: 'string',
      value: 'NAME',
      default: 'projectsesame.io/gateway-controller',
      help: 'Gateways of GatewayClasses with this controller are explained.',
    },
    method: {
      type: 'string',
      value: 'METHOD',
      parse: (text) => (/^[!#$%&'*+.^_`|~\w-]+$/.test(text) ? text : refuse('write a method, as in GET or POST')),
      help: 'The method of the request; GET where a header is given.',
    },
    header: {
      type: 'string',
      value: 'NAME: VALUE',
      multiple: true,
      parse: headerOf,
      help: 'A header of the request; may be given several times.',
    },
    output: REPORT_OUTPUT,
  },
  async run({ command: name, flags, positionals: [asked] }, io) {
    if (asked === undefined) throw UsageErrors.Missing(name, 'a host', 'sesame explain shop.example.com/cart');
    const key = explanationKey(requestOf(asked, flags.method, flags.header));
    const explanation = await withCluster(flags, io, async ({ client }) => {
      const ref = { namespace: sesameNamespace(flags.namespace, io.env), name: flags['sesame-config'] };
      const object = await client.get(SesameConfiguration, ref, { signal: io.signal }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      const source = { from: 'resource', name: ref.name } as const;
      const { value } = effectiveConfiguration({ given: object?.spec, source, namespace: ref.namespace });
      const kinds = await servedGatewayKinds(client, io.signal);
      const settings = settingsOnly(routingSettingsOf(value));
      return explain(key, settings, gatewaysOf(settings, kinds, flags['gateway-controller-name']), client, io);
    });
    io.stdout(
      await formatReport(flags.output, {
        value: explanation,
        text: (isWide) => explanationText(explanation, isWide),
        names: () => sourcesOf(explanation),
      }),
    );
    return explanation.servedAs === undefined ? 1 : 0;
  },
});

/** The objects whose routes are for the path. */
function sourcesOf({ listeners }: Explanation): string[] {
  return listeners.flatMap(({ routes }) =>
    routes.flatMap(({ from }) => {
      const [kind, name] = from?.split(' ') ?? [];
      return kind === undefined || name === undefined ? [] : [objectName(kind, name.split('/').at(-1) ?? name)];
    }),
  );
}

/** `NAME: VALUE`, as curl takes it. */
function headerOf(text: string): readonly [name: string, value: string] | Refusal {
  const [, name, value = ''] = /^([!#$%&'*+.^_`|~\w-]+)\s*:\s*(.*)$/.exec(text) ?? [];
  return name === undefined ? refuse("write NAME: VALUE, as in 'x-user: anna'") : [name, value];
}

/** `HOST`, `HOST/PATH` and URLs. A method or a header makes the request known whole, with its query. */
function requestOf(
  asked: string,
  method: string | undefined,
  headers: readonly (readonly [name: string, value: string])[] | undefined,
): ExplainedRequest {
  const plain = asked.replace(/^https?:\/\//, '');
  const slash = plain.indexOf('/');
  const host = (slash < 0 ? plain : plain.slice(0, slash)).replace(/:\d+$/, '');
  const path = slash < 0 ? '/' : (plain.slice(slash).split('#')[0] ?? '/');
  if (method === undefined && headers === undefined) return { host, path: path.split('?')[0] ?? '/' };
  return { host, path, method: method ?? 'GET', headers: Object.fromEntries(headers ?? []) };
}

/** Every Gateway of the controller: an instance serves one of them, and here it is not known which. */
function gatewaysOf(settings: Derived<RoutingSettings>, kinds: GatewayKinds, controllerName: string) {
  const parts = gatewayComponents({
    settings,
    kinds,
    selects: (read, _key, className, { lookup }) =>
      lookup(read).gatewayClass(className)?.controllerName === controllerName,
    placements: derivation<Placement | undefined>({ name: 'explained-placement', compute: () => ({ address: '::' }) }),
    publications: derivation<Publication>({
      name: 'explained-publication',
      compute: () => ({ addresses: [], unusable: [] }),
    }),
  });
  return { graph: parts.graph, kinds, reads: parts.reads };
}

const PATIENCE_MS = 30_000;

async function explain(
  key: string,
  settings: Derived<RoutingSettings>,
  gateways: ReturnType<typeof gatewaysOf>,
  client: Parameters<ReturnType<typeof createRuntime>['addWorld']>[0]['client'],
  io: Io,
): Promise<Explanation> {
  const { clock = systemClock } = io;
  const { promise, resolve, reject } = Promise.withResolvers<Explanation>();
  const answer = sink<Explanation>({
    name: 'explanation',
    of: explanations(routeGraph(settings), gateways),
    keys: derivation<readonly string[]>({ name: 'explained', compute: () => [key] }),
    reads: [...ROUTE_READS, ...gateways.reads],
    lease: 'none',
    open: () => ({
      take({ changes }) {
        for (const { after } of changes) if (after) resolve(after);
      },
    }),
  });
  const runtime = createRuntime({
    operators: [operator({ name: 'sesame-explain', kinds: [], reconcilers: [], sinks: [answer] })],
    clock,
    random: Math.random,
    logger: silentLogger,
    leadership: () => alwaysLeader,
  });
  runtime.setDigestKey({ id: 'process', bytes: randomBytes(32) });
  runtime.addWorld({ name: '', client });
  const ending = new AbortController();
  const running = runtime.run(AbortSignal.any([io.signal, ending.signal]));
  const timer = clock.after(PATIENCE_MS, () => {
    const waiting = runtime.status().worlds.flatMap(({ waitingFor }) => waitingFor);
    reject(CommandErrors.CannotReadCluster(waiting.join(', ') || 'caches'));
  });
  running.catch(reject);
  const interrupt = () => reject(io.signal.reason as Error);
  io.signal.addEventListener('abort', interrupt, { once: true });
  try {
    return await promise;
  } finally {
    io.signal.removeEventListener('abort', interrupt);
    timer.cancel();
    ending.abort();
    await running;
  }
}
