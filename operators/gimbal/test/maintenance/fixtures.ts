// Objects and moves that the scenarios of maintenance share.
import { type Client, CustomResourceDefinition, type Kind, type KubeObject, Service } from '@capstan/kube';
import type { Operator } from '@capstan/reconcile';
import { createStage, type Stage } from '@capstan/testing';
import { BACKEND_LABEL, DiscoveryBackend } from '../../src/index.ts';
import { MAINTENANCE_ANNOTATION, routeKinds } from '../../src/maintenance/index.ts';
import { createGimbal } from '../../src/operator.ts';

export const NAMESPACE = 'default';
export const ref = (name: string) => ({ namespace: NAMESPACE, name });

// Under the names that a server knows them by.
const kinds = new Map(routeKinds().map(({ id, kind, title }) => [id, { ...kind, kind: title }]));
export function routeKind(id: string): Kind {
  const kind = kinds.get(id);
  if (kind === undefined) throw new Error(`there is no kind of routes called ${id}`);
  return kind;
}
export const HTTPProxy = routeKind('http-proxy');

/** Installs CRDs of routes that take anything. */
export async function install(client: Client, ...ids: string[]): Promise<void> {
  for (const id of ids) await installAs(client, id, { type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
}

/** Installs the CRD of a kind of routes with a schema of the test's own. */
export async function installAs(client: Client, id: string, openAPIV3Schema: object): Promise<void> {
  const { group, version, kind, plural, scope } = routeKind(id);
  await client.create(CustomResourceDefinition, {
    apiVersion: CustomResourceDefinition.apiVersion,
    kind: 'CustomResourceDefinition',
    // A real server takes groups of Kubernetes' own only with a word on who approved them.
    metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        { name: version, served: true, storage: true, schema: { openAPIV3Schema }, subresources: { status: {} } },
      ],
    },
  });
}

export function backend(name: string, fields: object = {}, namespace = NAMESPACE): KubeObject {
  return {
    apiVersion: DiscoveryBackend.apiVersion,
    kind: 'DiscoveryBackend',
    metadata: { namespace, name },
    spec: { type: 'kubernetes', secret: `${name}-kubecfg`, ...fields },
  } as KubeObject;
}

/** A Service as a discoverer makes it: `<backend>-<name>`, with the label; one of `local` has none. */
export function service(name: string, label = BACKEND_LABEL): Service {
  const [owner = ''] = name.split('-');
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...ref(name), ...(owner === 'local' ? {} : { labels: { [label]: owner } }) },
    spec: { clusterIP: 'None', ports: [{ port: 80 }] },
  };
}

export type Weight = number | '_';

export function proxy(name: string, services: Record<string, Weight | object>): KubeObject {
  return {
    apiVersion: HTTPProxy.apiVersion,
    kind: 'HTTPProxy',
    metadata: ref(name),
    spec: {
      virtualhost: { fqdn: `${name}.example` },
      routes: [{ conditions: [{ prefix: '/' }], services: entries(services) }],
    },
  } as KubeObject;
}

export function httpRoute(name: string, references: Record<string, Weight>): KubeObject {
  const kind = routeKind('http-route');
  return {
    apiVersion: kind.apiVersion,
    kind: 'HTTPRoute',
    metadata: ref(name),
    spec: { rules: [{ matches: [{ path: { value: '/' } }], backendRefs: entries(references) }] },
  } as KubeObject;
}

function entries(services: Record<string, Weight | object>): object[] {
  return Object.entries(services).map(([name, weight]) => ({
    name,
    port: 80,
    ...(typeof weight === 'object' ? weight : weight === '_' ? {} : { weight }),
  }));
}

const SERVICES = ['x-a', 'x-b', 'y-a', 'y-b', 'z-c', 'local-l'];

export interface Played extends Stage {
  route(name?: string, kind?: Kind): Promise<KubeObject>;
  weights(name?: string, kind?: Kind): Promise<Weight[]>;
  setStatus(name: string, clusterStatus: string): Promise<void>;
  backend(name?: string): Promise<DiscoveryBackend>;
  edit(change: (spec: Spec) => void, name?: string): Promise<void>;
  /** Reasons of the Events that the operator reported. */
  events(): string[];
}

export interface Spec {
  routes: { conditions?: object[]; services: { name: string; port?: number; weight?: number; mirror?: boolean }[] }[];
}

export interface Scene {
  objects: KubeObject[];
  /** Kinds of routes that are installed. */
  installed?: string[];
  /** Fields of the backend x. */
  x?: object;
  operator?: Operator;
}

/** Runs a check on a settled cluster with the backends x, y and z, their Services, and these objects. */
export async function played(
  { objects, installed = ['http-proxy'], x = {}, operator = createGimbal() }: Scene,
  check: (stage: Played) => Promise<void>,
): Promise<void> {
  const reported: string[] = [];
  const stage = await createStage({
    operators: [operator],
    runtime: { notify: (_world, _operator, _owner, { reason }) => void reported.push(reason) },
    async given(client) {
      await install(client, ...installed);
      for (const one of [backend('x', x), backend('y'), backend('z')]) await client.create(DiscoveryBackend, one);
      for (const name of SERVICES) await client.create(Service, service(name));
      for (const one of objects) await client.create(kindOf(one), one);
    },
  });
  try {
    await check(Object.assign(Object.create(stage) as Stage, movesOn(stage, reported)));
  } finally {
    await stage.end();
  }
}

const known = [...kinds.values(), Service, DiscoveryBackend];

export function kindOf({ kind, apiVersion }: KubeObject): Kind {
  const found = known.find((one) => one.kind === kind && one.apiVersion === apiVersion);
  if (found === undefined) throw new Error(`the scenarios do not know the kind ${kind} of ${apiVersion}`);
  return found;
}

function movesOn(stage: Stage, reported: readonly string[]) {
  const { client } = stage;
  const route = (name = 'r', kind: Kind = HTTPProxy) => client.get(kind, ref(name));
  return {
    route,
    weights: async (name?: string, kind?: Kind) => weightsOf(await route(name, kind)),
    async setStatus(name: string, clusterStatus: string) {
      await client.patch(DiscoveryBackend, ref(name), 'merge', { spec: { clusterStatus } });
      await stage.settle();
    },
    backend: (name = 'x') => client.get(DiscoveryBackend, ref(name)),
    async edit(change: (spec: Spec) => void, name = 'r') {
      const current = structuredClone(await route(name)) as KubeObject & { spec: Spec };
      change(current.spec);
      await client.update(HTTPProxy, current);
      await stage.settle();
    },
    events: () => [...reported],
  };
}

export function weightsOf(route: KubeObject): Weight[] {
  const { spec } = route as unknown as {
    spec: { routes?: { services: { weight?: number }[] }[]; rules?: { backendRefs: { weight?: number }[] }[] };
  };
  const lists = [
    ...(spec.routes ?? []).map(({ services }) => services),
    ...(spec.rules ?? []).map((rule) => rule.backendRefs),
  ];
  return lists.flat().map(({ weight }) => weight ?? '_');
}

export const stateOn = ({ metadata }: KubeObject) => metadata.annotations?.[MAINTENANCE_ANNOTATION];

export function condition({ status }: DiscoveryBackend, type: string) {
  const found = status?.conditions?.find((one) => one.type === type);
  return found === undefined ? undefined : { status: found.status, reason: found.reason };
}

/** Writes to routes since the last clear, as `PATCH name`. */
export function routeWrites(stage: Pick<Stage, 'transport'>, plural = 'httpproxies'): string[] {
  return stage.transport.writes
    .filter((line) => line.includes(`/${plural}/`))
    .map((line) => line.replace(/ .*\//, ' '));
}
