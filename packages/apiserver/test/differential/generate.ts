// Random sequences of requests, the same for the same seed. A few names of a few kinds, so that requests meet.
import { createRandom, type SeededRandom } from '@capstan/testing';
import { clusterRoles, leases, namespaces, roleBindings, roles } from './kinds/cluster.ts';
import { configMaps, secrets, serviceAccounts } from './kinds/config.ts';
import { gadgets, oldWidgets, widgets } from './kinds/custom.ts';
import { type GeneratedKind, maybe } from './kinds/kind.ts';
import { budgets, endpointSlices, ingresses, services } from './kinds/network.ts';
import { daemonSets, deployments, pods, replicaSets } from './kinds/workloads.ts';
import type { DiffRequest, Sequence } from './sequence.ts';

const KINDS: readonly GeneratedKind[] = [
  configMaps,
  configMaps,
  secrets,
  serviceAccounts,
  deployments,
  deployments,
  replicaSets,
  daemonSets,
  pods,
  services,
  services,
  ingresses,
  endpointSlices,
  budgets,
  roles,
  clusterRoles,
  roleBindings,
  leases,
  namespaces,
  widgets,
  widgets,
  widgets,
  oldWidgets,
  gadgets,
];

export const LENGTH = 20;

export function generateSequence(seed: number, length = LENGTH): Sequence {
  const random = createRandom(seed);
  const drawn = Array.from({ length: random.integer(1, 3) }, () => random.pick(KINDS));
  // What a scale in one version makes of the managers of another is a difference that we know.
  const kinds = drawn.includes(oldWidgets) ? drawn.filter((kind) => kind !== widgets) : drawn;
  const requests: DiffRequest[] = [];
  const add = (request: Omit<DiffRequest, 'id'>) => requests.push({ id: requests.length + 1, ...request });
  for (const kind of kinds) add(create(random, kind));
  while (requests.length < length) {
    for (const request of step(random, random.pick(kinds), requests)) add(request);
  }
  return { name: `d${seed}`, requests };
}

type Unnumbered = Omit<DiffRequest, 'id'>;

const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const JSON_PATCH = 'application/json-patch+json';
const APPLY = 'application/apply-patch+yaml';

/** Usually one request; a list in pages or a deletion that takes its time are several. */
function step(random: SeededRandom, kind: GeneratedKind, before: readonly DiffRequest[]): Unnumbered[] {
  const name = random.pick(kind.names);
  const path = `${kind.collection}/${name}`;
  const steps: [weight: number, make: () => Unnumbered[]][] = [
    [3, () => [create(random, kind)]],
    [4, () => [replace(random, kind, name, path)]],
    [3, () => [patch(random, kind, path, MERGE, withMeta(random, kind.patch(random)))]],
    [
      3,
      () => [
        patch(
          random,
          kind,
          path,
          kind.isCustom && random.chance(0.7) ? MERGE : STRATEGIC,
          withMeta(random, kind.patch(random)),
        ),
      ],
    ],
    [3, () => [patch(random, kind, path, JSON_PATCH, kind.operations(random))]],
    [6, () => [apply(random, kind, name, path)]],
    [2, () => [status(random, kind, name, path)]],
    [1, () => [scale(random, kind, path, before.length)]],
    [3, () => [{ method: 'GET', path, ...form(random) }]],
    [3, () => list(random, kind, before)],
    [3, () => remove(random, kind, path)],
    [0.5, () => [removeAll(random, kind)]],
    [1, () => [malformed(random, kind, name, path)]],
    [1, () => [watch(random, kind, before)]],
    [0.5, () => [foreign(random, kind, path)]],
  ];
  const total = steps.reduce((sum, [weight]) => sum + weight, 0);
  let drawn = random() * total;
  for (const [weight, make] of steps) {
    drawn -= weight;
    if (drawn < 0) return make();
  }
  return [{ method: 'GET', path }];
}

function meta(random: SeededRandom, name: string, isNamed = false): Record<string, unknown> {
  return {
    ...maybe(random, isNamed ? 1 : 0.97, () => ({ name })),
    ...maybe(random, 0.35, () => ({ labels: labels(random) })),
    ...maybe(random, 0.15, () => ({ annotations: { note: random.pick(['x', 'y']) } })),
    ...maybe(random, 0.12, () => ({
      finalizers: random.pick([['example.com/hold'], ['example.com/hold', 'example.com/other'], ['bad'], []]),
    })),
    ...maybe(random, 0.05, () => ({ ownerReferences: [owner(random)] })),
    ...maybe(random, 0.03, () => ({ unknownMeta: 'x' })),
    ...maybe(random, 0.03, () => ({ namespace: random.pick(['{ns}', 'other']) })),
  };
}

function labels(random: SeededRandom): Record<string, unknown> {
  return random.pick<Record<string, unknown>>([
    { app: 'x' },
    { app: 'x', tier: 'front' },
    { app: 'y' },
    {},
    ...(random.chance(0.2) ? [{ 'bad key': 'x' }, { app: 'not valid!' }, { app: 5 }, { app: null }] : []),
  ]);
}

/** The one object that nobody deletes: what the garbage collector does in its own time is for sequences of its own. */
function owner(random: SeededRandom): Record<string, unknown> {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    name: 'default',
    uid: random.pick(['@uid:/api/v1/namespaces/{ns}/serviceaccounts/default', '']),
    ...maybe(random, 0.3, () => ({ controller: true })),
    ...maybe(random, 0.3, () => ({ blockOwnerDeletion: true })),
  };
}

function withMeta(random: SeededRandom, content: Record<string, unknown>): Record<string, unknown> {
  if (random.chance(0.6)) return content;
  const metadata = random.pick<Record<string, unknown>>([
    { labels: { app: random.pick(['x', 'z']) } },
    { labels: { tier: null } },
    { annotations: { note: 'patched' } },
    { finalizers: null },
    { finalizers: ['example.com/hold'] },
    { finalizers: [] },
    { name: 'renamed' },
    { resourceVersion: '1' },
    { uid: 'x' },
    { generation: 7 },
    { creationTimestamp: null },
    { deletionTimestamp: '2026-01-01T00:00:00Z' },
    { managedFields: [] },
    { managedFields: [{}] },
    { labels: null },
    { ownerReferences: [owner(random)] },
  ]);
  return random.chance(0.5) ? { metadata } : { ...content, metadata };
}

function writeQuery(random: SeededRandom): Pick<Unnumbered, 'query'> {
  const query: Record<string, string> = {};
  if (random.chance(0.12)) query['dryRun'] = random.pick(['All', 'All', 'All', 'Some']);
  if (random.chance(0.2)) query['fieldValidation'] = random.pick(['Strict', 'Strict', 'Warn', 'Ignore', 'Odd']);
  if (random.chance(0.4)) query['fieldManager'] = random.pick(['one', 'two', 'three']);
  if (random.chance(0.02)) query['fieldManager'] = random.pick(['x'.repeat(129), 'bad\u0007']);
  if (random.chance(0.05)) query['pretty'] = 'true';
  return Object.keys(query).length === 0 ? {} : { query };
}

function create(random: SeededRandom, kind: GeneratedKind): Unnumbered {
  const name = random.pick(kind.names);
  const metadata = random.chance(0.06)
    ? { generateName: random.pick([`${name}-`, `${name}-`, 'Bad_']), ...maybe(random, 0.2, () => ({ name })) }
    : meta(random, name, kind.kind === 'Service');
  const body = { ...head(random, kind), metadata, ...kind.content(random) };
  return {
    method: 'POST',
    path: kind.collection,
    body,
    ...writeQuery(random),
    ...(random.chance(0.1) && form(random)),
  };
}

function head(random: SeededRandom, { apiVersion, kind, isCustom }: GeneratedKind): Record<string, unknown> {
  if (random.chance(0.96)) return { apiVersion, kind };
  return random.pick<Record<string, unknown>>([
    { kind },
    { apiVersion },
    {},
    { apiVersion: 'v9', kind },
    ...(isCustom ? [] : [{ apiVersion, kind: 'Other' }]),
  ]);
}

function replace(random: SeededRandom, kind: GeneratedKind, name: string, path: string): Unnumbered {
  const version = random.pick([undefined, undefined, undefined, `@rv:${path}`, `@oldrv:${path}`, '0', 'x']);
  const metadata = {
    ...(random.chance(0.95) ? { ...meta(random, name), name } : meta(random, 'elsewhere')),
    ...(version !== undefined && { resourceVersion: version }),
    ...maybe(random, 0.05, () => ({ uid: random.pick([`@uid:${path}`, 'another']) })),
  };
  // Most programs send back what they have read, with a change.
  if (random.chance(0.6)) {
    const patched = withMeta(random, kind.patch(random));
    return { method: 'PUT', path, edit: { path, patch: patched }, ...writeQuery(random) };
  }
  return {
    method: 'PUT',
    path,
    body: { ...head(random, kind), metadata, ...kind.content(random) },
    ...writeQuery(random),
  };
}

function patch(
  random: SeededRandom,
  _kind: GeneratedKind,
  path: string,
  contentType: string,
  body: unknown,
): Unnumbered {
  return { method: 'PATCH', path, contentType, body, ...writeQuery(random) };
}

function apply(random: SeededRandom, kind: GeneratedKind, name: string, path: string): Unnumbered {
  const metadata = {
    name,
    ...maybe(random, 0.3, () => ({ labels: { [random.pick(['app', 'tier'])]: random.pick(['x', 'y']) } })),
    ...maybe(random, 0.15, () => ({ annotations: { note: random.pick(['x', 'y']) } })),
    ...maybe(random, 0.05, () => ({ finalizers: ['example.com/hold'] })),
    ...maybe(random, 0.05, () => ({ resourceVersion: random.pick([`@rv:${path}`, `@oldrv:${path}`, '1']) })),
    ...maybe(random, 0.02, () => ({ managedFields: [] })),
  };
  const { query } = writeQuery(random);
  return {
    method: 'PATCH',
    path,
    contentType: APPLY,
    body: { ...head(random, kind), metadata, ...kind.applied(random) },
    query: {
      ...query,
      ...(random.chance(0.97) && { fieldManager: random.pick(['one', 'two', 'three']) }),
      ...(random.chance(0.45) && { force: random.pick(['true', 'true', 'true', 'false']) }),
    },
  };
}

function status(random: SeededRandom, kind: GeneratedKind, name: string, path: string): Unnumbered {
  const content = { status: kind.status?.(random) ?? { phase: 'X' } };
  const at = `${path}/status`;
  const query = writeQuery(random);
  const { apiVersion, kind: type } = kind;
  return random.pick<() => Unnumbered>([
    () => ({ method: 'PATCH', path: at, contentType: MERGE, body: content, ...query }),
    () => ({ method: 'PATCH', path: at, contentType: STRATEGIC, body: content, ...query }),
    () => ({
      method: 'PUT',
      path: at,
      edit: { path, patch: { ...content, metadata: { labels: { app: 'status' } } } },
      ...query,
    }),
    () => ({
      method: 'PATCH',
      path: at,
      contentType: APPLY,
      body: { apiVersion, kind: type, metadata: { name }, ...content },
      query: { fieldManager: random.pick(['one', 'two']), ...(random.chance(0.5) && { force: 'true' }) },
    }),
    () => ({ method: 'GET', path: at }),
  ])();
}

function scale(random: SeededRandom, _kind: GeneratedKind, path: string, turn: number): Unnumbered {
  const at = `${path}/scale`;
  const name = path.slice(path.lastIndexOf('/') + 1);
  return random.pick<() => Unnumbered>([
    () => ({ method: 'GET', path: at }),
    () => ({
      method: 'PATCH',
      path: at,
      contentType: MERGE,
      body: { spec: { replicas: random.pick<unknown>([0, 10 + turn, 10 + turn, -1, 'x', null]) } },
      ...writeQuery(random),
    }),
    () => ({
      method: 'PUT',
      path: at,
      body: {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: {
          name: random.pick([name, name, 'other']),
          namespace: '{ns}',
          ...maybe(random, 0.3, () => ({ resourceVersion: random.pick([`@rv:${path}`, `@oldrv:${path}`]) })),
        },
        // Each its own: what a scale that changes nothing writes is not compared.
        spec: { replicas: 10 + turn },
      },
      ...writeQuery(random),
    }),
  ])();
}

function form(random: SeededRandom): Pick<Unnumbered, 'accept' | 'query'> {
  if (random.chance(0.75)) return {};
  return random.pick<Pick<Unnumbered, 'accept' | 'query'>>([
    { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
    {
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
      query: { includeObject: random.pick(['None', 'Object', 'Metadata', 'Odd']) },
    },
    { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' },
    { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' },
    { accept: 'application/yaml' },
    { accept: 'text/plain' },
    { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
    { accept: '*/*' },
  ]);
}

const LABEL_SELECTORS = [
  'app=x',
  'app!=x',
  'app in (x,y)',
  'app notin (x)',
  'app',
  '!app',
  'app=x,tier=front',
  'app==y',
  'a b=c',
  'app in x',
  'app>5',
];

function selection(random: SeededRandom, kind: GeneratedKind): Record<string, string> {
  return {
    // Other sequences share what lies in no namespace.
    ...(isShared(kind)
      ? { labelSelector: 'app=only-{ns}' }
      : random.chance(0.4)
        ? { labelSelector: random.pick(LABEL_SELECTORS) }
        : {}),
    ...(!isShared(kind) &&
      random.chance(0.3) && {
        fieldSelector: random.pick([
          ...(kind.fieldSelectors ?? []),
          'metadata.name=a,metadata.namespace={ns}',
          'nonsense',
        ]),
      }),
  };
}

function isShared(kind: GeneratedKind): boolean {
  return !kind.collection.includes('{ns}');
}

function list(random: SeededRandom, kind: GeneratedKind, before: readonly DiffRequest[]): Unnumbered[] {
  const path = kind.collection;
  const chosen = selection(random, kind);
  const shape = form(random);
  const query = { ...shape.query, ...chosen };
  if (random.chance(0.3)) {
    const id = before.length + 1;
    const limit = random.pick(['1', '2']);
    return [
      { method: 'GET', path, ...shape, query: { ...query, limit } },
      { method: 'GET', path, ...shape, query: { ...query, limit, continue: `@continue:${id}` } },
    ];
  }
  const version = random.pick<Record<string, string>>([
    {},
    {},
    {},
    { resourceVersion: '0' },
    { resourceVersion: '0', resourceVersionMatch: 'NotOlderThan' },
    { resourceVersion: '0', resourceVersionMatch: 'Exact' },
    { resourceVersionMatch: 'Exact' },
    { resourceVersion: 'x' },
    { limit: '-1' },
    { limit: 'x' },
    { continue: 'nonsense' },
    { resourceVersion: '1', continue: 'x' },
    { resourceVersion: `@rv:${kind.collection}/${kind.names[0]}`, resourceVersionMatch: 'NotOlderThan' },
    { resourceVersion: `@rv:${kind.collection}/${kind.names[0]}`, resourceVersionMatch: 'Exact' },
    { resourceVersion: `@rv:${kind.collection}/${kind.names[0]}`, resourceVersionMatch: 'Odd' },
  ]);
  const isFromCache = version['resourceVersion'] === '0' || version['resourceVersionMatch'] === 'NotOlderThan';
  return [{ method: 'GET', path, ...shape, query: { ...query, ...version }, ...(isFromCache && { eventually: true }) }];
}

function remove(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered[] {
  const policy = random.pick([undefined, undefined, 'Background', 'Foreground', 'Orphan', 'Odd']);
  const options: Record<string, unknown> = {
    ...(policy !== undefined && { propagationPolicy: policy }),
    ...maybe(random, 0.2, () => ({ gracePeriodSeconds: random.pick<unknown>([0, 1, -1, 'x']) })),
    ...maybe(random, 0.15, () => ({
      preconditions: random.pick<object>([
        { uid: `@uid:${path}` },
        { uid: 'x' },
        { resourceVersion: `@oldrv:${path}` },
        {},
      ]),
    })),
    ...maybe(random, 0.1, () => ({ dryRun: random.pick([['All'], ['Some']]) })),
    ...maybe(random, 0.04, () => ({ orphanDependents: true })),
    ...maybe(random, 0.04, () => ({ unknown: 1 })),
  };
  // A namespace goes in its own time, and takes everything along: that is for sequences of their own.
  if (kind.kind === 'Namespace') return [{ method: 'DELETE', path, body: { dryRun: ['All'] } }];
  const isBody = random.chance(0.5);
  const first: Unnumbered = isBody
    ? {
        method: 'DELETE',
        path,
        body: { ...(random.chance(0.6) && { apiVersion: 'v1', kind: 'DeleteOptions' }), ...options },
      }
    : { method: 'DELETE', path, ...(policy !== undefined && { query: { propagationPolicy: policy } }) };
  // What the collector finishes is looked at when it has; finalizers hold it until somebody takes them away.
  const isSlow = policy === 'Foreground' || policy === 'Orphan';
  if (!isSlow) return [first];
  return [first, { method: 'GET', path, eventually: true }];
}

function removeAll(random: SeededRandom, kind: GeneratedKind): Unnumbered {
  const query = isShared(kind)
    ? { labelSelector: 'app=only-{ns}' }
    : { labelSelector: random.pick(['app=x', 'app=y', 'tier', 'bad selector here']) };
  return { method: 'DELETE', path: kind.collection, query };
}

function malformed(random: SeededRandom, kind: GeneratedKind, name: string, path: string): Unnumbered {
  const { apiVersion, kind: type } = kind;
  const whole = JSON.stringify({ apiVersion, kind: type, metadata: { name } });
  const query = writeQuery(random);
  // A Service without a name is given an address first, and refused for that.
  const nameless: Unnumbered[] = [
    { method: 'POST', path: kind.collection, text: 'null', ...query },
    { method: 'POST', path: kind.collection, text: '{}', ...query },
  ];
  return random.pick<Unnumbered>([
    ...(type === 'Service' ? [] : nameless),
    { method: 'POST', path: kind.collection, text: '{"kind":', ...query },
    { method: 'POST', path: kind.collection, text: '', ...query },
    { method: 'POST', path: kind.collection, text: '[]', ...query },
    { method: 'POST', path: kind.collection, text: '"x"', ...query },
    { method: 'POST', path: kind.collection, text: whole, contentType: 'text/plain', ...query },
    { method: 'POST', path: kind.collection, text: whole, contentType: 'application/x', ...query },
    {
      method: 'POST',
      path: kind.collection,
      text: `kind: ${type}\napiVersion: ${apiVersion}\nmetadata:\n  name: [${name}\n`,
      contentType: 'application/yaml',
      ...query,
    },
    {
      method: 'POST',
      path: kind.collection,
      text: `kind: ${type}\napiVersion: ${apiVersion}\nmetadata:\n  name: "${name}"\n`,
      contentType: 'application/yaml',
      ...query,
    },
    {
      method: 'POST',
      path: kind.collection,
      text: `${whole.slice(0, -1)},"metadata":{"name":"twice"}}`,
      query: { fieldValidation: random.pick(['Strict', 'Warn']) },
    },
    { method: 'POST', path: kind.collection, text: `${whole}{}`, ...query },
    { method: 'POST', path, text: whole, ...query },
    { method: 'PUT', path: kind.collection, text: whole, ...query },
    { method: 'PATCH', path, text: '{', contentType: MERGE, ...query },
    { method: 'PATCH', path, text: '[]', contentType: MERGE, ...query },
    { method: 'PATCH', path, text: '5', contentType: STRATEGIC, ...query },
    { method: 'PATCH', path, text: '{}', contentType: JSON_PATCH, ...query },
    { method: 'PATCH', path, text: '[{"op":"add"}]', contentType: JSON_PATCH, ...query },
    { method: 'PATCH', path, text: '{}', contentType: 'application/json', ...query },
    { method: 'PATCH', path, text: '{}', contentType: APPLY, query: { fieldManager: 'one' } },
    { method: 'PATCH', path, text: 'a: [', contentType: APPLY, query: { fieldManager: 'one' } },
    { method: 'PATCH', path, text: whole, contentType: APPLY },
    { method: 'PATCH', path, body: { metadata: { name } }, contentType: MERGE, query: { force: 'true' } },
    { method: 'DELETE', path, text: 'nonsense', ...query },
    { method: 'DELETE', path, text: '{"propagationPolicy":5}' },
    { method: 'GET', path: `${path}/nothing` },
    // Under a group of custom resources nobody answers with a Status; here everybody gets one.
    ...(kind.isCustom ? [] : [{ method: 'GET' as const, path: kind.collection.replace(/\/[^/]*$/, '/nothing') }]),
    { method: 'PUT', path: `${path}/status`, text: '{}' },
  ]);
}

function watch(random: SeededRandom, kind: GeneratedKind, _before: readonly DiffRequest[]): Unnumbered {
  const version = random.pick<Record<string, string>>([
    {},
    { resourceVersion: '0' },
    // How far back a real server remembers custom resources depends on when it was last told about their definition.
    kind.isCustom ? {} : { resourceVersion: `@rv:${kind.collection}/${kind.names[0]}` },
    { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: 'true' },
    { sendInitialEvents: 'true' },
    { resourceVersion: 'x' },
  ]);
  const accept = random.chance(0.15) ? { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' } : {};
  return {
    method: 'GET',
    path: kind.collection,
    query: { ...selection(random, kind), ...version, watch: 'true' },
    watch: true,
    ...accept,
  };
}

/** As somebody who may do nothing, or what a binding of this sequence lets him. */
function foreign(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered {
  const as = random.pick(['alice', 'bob', 'system:serviceaccount:{ns}:default']);
  return random.pick<Unnumbered>([
    { method: 'GET', path, as },
    { method: 'GET', path: kind.collection, as },
    { method: 'DELETE', path, as },
    { method: 'PATCH', path: `${path}/status`, contentType: MERGE, body: {}, as },
    {
      method: 'POST',
      path: kind.collection,
      body: { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'x' } },
      as,
    },
    {
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      as,
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: {
          resourceAttributes: { namespace: '{ns}', verb: random.pick(['get', 'list', 'create']), resource: 'pods' },
        },
      },
    },
  ]);
}
