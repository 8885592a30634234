// The reports and resources of Sesame for a set of objects, without a cluster: the same reconcilers and graph as in one.
import type { KubeObject } from '@capstan/kube';
import { derivation, evaluate, operator, plan, reconciler } from '@capstan/reconcile';
import { createVirtualClock } from '@capstan/testing';
import { type Envoy, validate } from '../../src/envoy/index.ts';
import { gatewayComponents, type Placement, type Publication } from '../../src/gateway/index.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { delegationStatus } from '../../src/reconcilers/delegation-status.ts';
import { extensionServiceStatus } from '../../src/reconcilers/extension-service-status.ts';
import { httpProxyStatus } from '../../src/reconcilers/http-proxy-status.ts';
import { ingressEvents } from '../../src/reconcilers/ingress-events.ts';
import { hostKey, routeGraph } from '../../src/routes/pieces.ts';
import { ROUTE_READS } from '../../src/routing/lookup.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { decoded as contentOf } from '../../src/xds/xds.test-support.ts';
import { CONTROLLER } from '../gateway/controller.ts';
import { NOW } from './secrets.ts';

export interface Outcome {
  /** `KIND NAMESPACE/NAME: Type/Reason message`, with `warning` before a type that is none. */
  readonly reports: readonly string[];
  /** Paths that a host serves over plain HTTP, and `tls` when it has a filter chain. */
  served(host: string): readonly string[];
  /** The virtual host, the filter chain and the other resources of a host, as JSON. */
  content(host: string): string;
  /** The violations that Envoy would refuse in all resources of these hosts. */
  readonly refused: readonly string[];
}

export function outcomeOf(
  objects: readonly KubeObject[],
  settings: RoutingSettings,
  hosts: readonly string[],
): Outcome {
  const value = derivation<RoutingSettings>({ name: 'fixture-settings', compute: () => settings });
  const gateways = gatewayComponents({
    settings: value,
    selects: (read, _key, className, { lookup }) => lookup(read).gatewayClass(className)?.controllerName === CONTROLLER,
    placements: derivation<Placement | undefined>({
      name: 'fixture-placement',
      compute: () => ({ address: '127.0.0.1', ports: {} }),
    }),
    publications: derivation<Publication>({
      name: 'fixture-publication',
      compute: () => ({ addresses: [{ type: 'IPAddress', value: '127.0.0.1' }], unusable: [] }),
    }),
    classes: { isOurs: (_read, controllerName) => controllerName === CONTROLLER },
  });
  const graph = routeGraph(value, [gateways.provider]);
  const paths = new Map<string, readonly string[]>();
  const contents = new Map<string, string>();
  const refused: string[] = [];
  const probe = reconciler({
    name: 'probe',
    resource: HTTPProxy,
    reads: [...ROUTE_READS.filter((read) => read !== HTTPProxy), ...gateways.reads],
    reconcile({ object, read }) {
      if (object.metadata.name !== 'good') return plan({});
      refused.splice(0);
      for (const host of hosts) {
        const piece = read.derived(graph.pieces, hostKey(host));
        const routes = piece.plain?.fragment.value.routes ?? [];
        paths.set(host, [...routes.map((route) => pathOf(route.match ?? {})), ...(piece.chain ? ['tls'] : [])]);
        contents.set(
          host,
          JSON.stringify([
            piece.plain?.fragment.value,
            piece.chain?.fragment.value,
            ...piece.resources.map((each) => contentOf(each.type, each)),
          ]),
        );
        const hostProblems = piece.plain
          ? validate('envoy.config.route.v3.VirtualHost', piece.plain.fragment.value)
          : [];
        const resources = piece.resources.flatMap((resource) => resource.violations());
        refused.push(...[...hostProblems, ...resources].map(({ path, problem }) => `${host}: ${path} ${problem}`));
      }
      return plan({});
    },
  });
  const reconcilers = [
    httpProxyStatus({ graph }),
    ingressEvents({ graph }),
    extensionServiceStatus({ graph }),
    delegationStatus(),
    ...gateways.reconcilers,
    probe,
  ];
  const evaluations = evaluate({
    operator: operator({ name: 'test', kinds: [], reconcilers }),
    objects,
    clock: createVirtualClock({ start: NOW }),
  });
  const reports = evaluations.flatMap(({ reconciler: { resource, name }, key, plan: settled }) => {
    if (settled.state === 'error') throw settled.error;
    if (settled.state === 'suspended') throw new Error(`${name} of ${key} waits for ${settled.waitingFor.join(', ')}`);
    return problemsOf(settled.value).map((problem) => `${resource.kind} ${key}: ${problem}`);
  });
  return { reports, served: (host) => paths.get(host) ?? [], content: (host) => contents.get(host) ?? '', refused };
}

function pathOf(match: Envoy.RouteMatch): string {
  return match.path ?? match.prefix ?? match.path_separated_prefix ?? 'regex';
}

interface Detailed {
  readonly type: string;
  readonly status?: string;
  readonly reason: string;
  readonly message?: string;
}

interface PlanLike {
  readonly conditions?: readonly (Detailed & {
    readonly details?: { readonly errors?: readonly Detailed[]; readonly warnings?: readonly Detailed[] };
  })[];
  readonly alerts?: readonly { readonly reason: string; readonly note: string }[];
  readonly status?: {
    readonly parents?: readonly { readonly conditions?: readonly Detailed[] }[];
    readonly ancestors?: readonly { readonly conditions?: readonly Detailed[] }[];
    readonly listeners?: readonly { readonly name: string; readonly conditions?: readonly Detailed[] }[];
  };
}

function problemsOf(planned: object): string[] {
  const { conditions = [], alerts = [], status = {} } = planned as PlanLike;
  const text = ({ type, reason, message = '' }: Detailed) => `${type}/${reason} ${message}`;
  const detailed = conditions.flatMap(({ details, ...own }) =>
    details
      ? [...(details.errors ?? []).map(text), ...(details.warnings ?? []).map((each) => `warning ${text(each)}`)]
      : isProblem(own)
        ? [text(own)]
        : [],
  );
  const nested = [
    ...[...(status.parents ?? []), ...(status.ancestors ?? [])].map((each) => ['', each.conditions ?? []] as const),
    ...(status.listeners ?? []).map((each) => [`listener ${each.name} `, each.conditions ?? []] as const),
  ].flatMap(([place, found]) => found.filter(isProblem).map((each) => place + text(each)));
  return [...detailed, ...nested, ...alerts.map(({ reason, note }) => `Event/${reason} ${note}`)];
}

/** Programmed follows from the others. */
const GOOD_WHEN_FALSE = new Set([
  'Conflicted',
  'PartiallyInvalid',
  'OverlappingTLSConfig',
  'InsecureFrontendValidationMode',
]);

function isProblem({ type, status }: Detailed): boolean {
  if (type === 'Programmed') return false;
  return GOOD_WHEN_FALSE.has(type) ? status === 'True' : status === 'False';
}
