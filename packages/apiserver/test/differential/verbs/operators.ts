// Requests that operators and their tools send and that few others do: a status is cleared, an exported manifest is written back, a
// collection is deleted across namespaces, a Scale is applied, a page is read while others write.
import type { SeededRandom } from '@capstan/testing';
import type { GeneratedKind } from '../kinds/kind.ts';
import { NOT_READY } from '../kinds/machines.ts';
import type { DiffRequest } from '../sequence.ts';
import { APPLY, isShared, JSON_PATCH, MERGE, STRATEGIC, type Unnumbered } from './request.ts';
import { create } from './write.ts';

export function operatorStep(
  random: SeededRandom,
  kind: GeneratedKind,
  path: string,
  before: readonly DiffRequest[],
): Unnumbered[] {
  const turn = before.length;
  return random.pick([
    () => clearing(random, kind, path),
    () => exported(random, path),
    () => (isShared(kind) ? exported(random, path) : restored(random, kind, path)),
    () => acrossNamespaces(random, kind),
    () => emptied(random, kind, path),
    () => emptyOptions(random, kind, path),
    () =>
      kind.hasScale === true && kind.isCustom !== true
        ? appliedScale(random, path, turn)
        : clearing(random, kind, path),
    () => (kind.kind === 'Pod' ? gated(random, path) : directives(random, kind, path)),
    () =>
      kind.hasScale === true && kind.isCustom !== true ? patchedScale(random, path, turn) : exported(random, path),
    () => watchWithoutBookmarks(random, kind),
    () => pagesUnderWrites(random, kind, turn),
  ])();
}

function clearing(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered[] {
  const at = `${path}/status`;
  const set: Unnumbered = {
    method: 'PATCH',
    path: at,
    contentType: MERGE,
    body: { status: kind.status?.(random) ?? {} },
  };
  const cleared = random.pick<Unnumbered>([
    { method: 'PATCH', path: at, contentType: MERGE, body: { status: null } },
    { method: 'PATCH', path: at, contentType: JSON_PATCH, body: [{ op: 'remove', path: '/status' }] },
    { method: 'PUT', path: at, edit: { path, patch: { status: null } } },
    { method: 'PATCH', path, contentType: MERGE, body: { status: null } },
    {
      method: 'PATCH',
      path,
      contentType: MERGE,
      body: { metadata: { labels: null, annotations: null, finalizers: null } },
    },
  ]);
  return [set, cleared, { method: 'GET', path }];
}

/** As a manifest that was exported from another cluster: with times, a generation and a uid of there. */
function exported(random: SeededRandom, path: string): Unnumbered[] {
  const metadata = random.pick<Record<string, unknown>>([
    { creationTimestamp: '2020-01-01T00:00:00Z' },
    { creationTimestamp: '2020-01-01T00:00:00Z', generation: 7, selfLink: '/x' },
    { creationTimestamp: '2020-01-01T00:00:00Z', resourceVersion: null, uid: null, managedFields: null },
    { deletionGracePeriodSeconds: 4 },
  ]);
  const write = random.pick<Unnumbered>([
    { method: 'PUT', path, edit: { path, patch: { metadata } } },
    { method: 'PATCH', path, contentType: MERGE, body: { metadata } },
  ]);
  return [write, { method: 'GET', path }];
}

/** A backup that is restored: the object goes, and the object that was read is created again, with more or fewer of the server's own fields. */
function restored(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered[] {
  const metadata = random.pick<Record<string, unknown>>([
    { resourceVersion: null },
    { resourceVersion: '' },
    {},
    { resourceVersion: null, uid: null, creationTimestamp: null, managedFields: null, generation: null },
    { resourceVersion: null, generation: 9, deletionGracePeriodSeconds: 5, deletionTimestamp: '2020-01-01T00:00:00Z' },
    { resourceVersion: null, managedFields: null, labels: { app: 'x' } },
  ]);
  const patch = { metadata, ...(random.chance(0.3) && { status: null }) };
  return [
    { method: 'DELETE', path, body: { gracePeriodSeconds: 0 } },
    { method: 'POST', path: kind.collection, edit: { path, patch } },
    { method: 'GET', path },
  ];
}

/** A collection of the sequence's own, deleted with options; the remaining objects are compared. */
function emptied(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered[] {
  if (isShared(kind)) return [{ method: 'GET', path }];
  const list = { method: 'GET', path: kind.collection, query: { labelSelector: 'app=x' } } as const;
  const query = random.pick<Record<string, string>>([
    { labelSelector: 'app=x' },
    { labelSelector: 'app=x', fieldSelector: 'metadata.name=a' },
    { labelSelector: 'app in (x,y),!tier' },
    { labelSelector: 'app=x', resourceVersion: '0' },
    { labelSelector: 'app=x', uid: 'x' },
    { limit: '1' },
    { labelSelector: 'app=x', gracePeriodSeconds: '0' },
    { labelSelector: 'app=x', fieldSelector: 'spec.odd=1' },
    { labelSelector: 'app=x', propagationPolicy: random.pick(['Background', 'Odd', '']) },
  ]);
  const body = random.pick<unknown>([
    undefined,
    { gracePeriodSeconds: 0 },
    { preconditions: { uid: 'x' } },
    { dryRun: ['All'] },
    { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' },
    { kind: 'Odd' },
  ]);
  const remove: Unnumbered = { method: 'DELETE', path: kind.collection, query, ...(body !== undefined && { body }) };
  return [{ method: 'PATCH', path, contentType: MERGE, body: { metadata: { labels: { app: 'x' } } } }, remove, list];
}

/** Never a deletion of custom resources, which others of the same kind would notice. */
function acrossNamespaces(random: SeededRandom, kind: GeneratedKind): Unnumbered[] {
  if (isShared(kind)) return [{ method: 'PUT', path: kind.collection, body: {} }];
  const path = kind.collection.replace('namespaces/{ns}/', '');
  return [
    random.pick<Unnumbered>([
      { method: 'DELETE', path, query: { dryRun: 'All' } },
      { method: 'POST', path, body: { metadata: { name: 'a' } } },
      { method: 'PATCH', path, contentType: MERGE, body: {} },
      { method: 'DELETE', path: kind.collection, query: { dryRun: random.pick(['All', '']) } },
    ]),
  ];
}

/** A real server taints a new node, and nothing here would remove the taint. */
const tainted = ({ kind }: GeneratedKind) => (kind === 'Node' ? { spec: { taints: [NOT_READY] } } : {});

function emptyOptions(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered[] {
  const [name = '', value = ''] = random.pick([
    ['dryRun'],
    ['fieldManager'],
    ['fieldValidation'],
    ['propagationPolicy'],
    ['gracePeriodSeconds'],
    ['orphanDependents', 'false'],
    ['limit'],
    ['sendInitialEvents', 'true'],
  ]);
  const query = { [name]: value };
  return [
    random.pick<Unnumbered>([
      {
        method: 'POST',
        path: kind.collection,
        body: { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { name: 'a' }, ...tainted(kind) },
        query,
      },
      { method: 'PATCH', path, contentType: MERGE, body: {}, query },
      { method: 'GET', path: kind.collection, query: { labelSelector: 'app=only-{ns}', ...query } },
      { method: 'DELETE', path: `${kind.collection}/none`, query },
    ]),
  ];
}

/** Each with a number of its own: a manager that updated the whole object keeps its entry as it is, see the list of differences. */
function appliedScale(random: SeededRandom, path: string, turn: number): Unnumbered[] {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const body = {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: random.pick([name, name, name, 'other']) },
    spec: { replicas: random.pick([20 + turn, 20 + turn, -1]) },
  };
  const query = { fieldManager: random.pick(['one', 'two']), ...(random.chance(0.6) && { force: 'true' }) };
  return [
    { method: 'PATCH', path: `${path}/scale`, contentType: APPLY, body, query },
    { method: 'GET', path },
  ];
}

/** Each with a number of its own, as above. */
function patchedScale(random: SeededRandom, path: string, turn: number): Unnumbered[] {
  const replicas = random.pick([40 + turn, 40 + turn, 40 + turn, -1]);
  const write = random.pick<Unnumbered>([
    { method: 'PATCH', path: `${path}/scale`, contentType: STRATEGIC, body: { spec: { replicas } } },
    {
      method: 'PATCH',
      path: `${path}/scale`,
      contentType: JSON_PATCH,
      body: [{ op: random.pick(['replace', 'add', 'test']), path: '/spec/replicas', value: replicas }],
    },
    { method: 'PATCH', path: `${path}/scale`, contentType: JSON_PATCH, body: [{ op: 'remove', path: '/spec' }] },
    {
      method: 'PATCH',
      path: `${path}/scale`,
      contentType: MERGE,
      body: { spec: { replicas }, metadata: { name: 'z' } },
    },
    {
      method: 'PATCH',
      path: `${path}/scale`,
      contentType: MERGE,
      body: { metadata: { resourceVersion: `@oldrv:${path}` }, spec: { replicas } },
    },
    { method: 'PATCH', path: `${path}/scale`, contentType: MERGE, body: { status: { replicas: 3 } } },
    { method: 'DELETE', path: `${path}/scale` },
    { method: 'POST', path: `${path}/scale`, body: {} },
  ]);
  return [write, { method: 'GET', path: `${path}/scale` }];
}

function gated(random: SeededRandom, path: string): Unnumbered[] {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const terms = (...keys: string[]) => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: keys.map((key) => ({ key, operator: 'Exists' })) }],
      },
    },
  });
  const spec = {
    schedulingGates: [{ name: 'example.com/one' }, { name: 'example.com/two' }],
    containers: [{ name: 'c', image: 'web:1' }],
    ...(random.chance(0.5) && { nodeSelector: { a: 'b' } }),
    ...(random.chance(0.5) && { affinity: terms('a') }),
  };
  const changes = [
    { schedulingGates: [{ name: 'example.com/one' }] },
    { schedulingGates: [{ name: 'example.com/three' }] },
    { schedulingGates: null },
    { schedulingGates: [{ name: 'example.com/one', $patch: 'delete' }] },
    { nodeSelector: { c: 'd' } },
    { nodeSelector: { a: 'other' } },
    { affinity: terms('a', 'b') },
    { affinity: terms('b') },
    { affinity: null },
    { nodeSelector: null },
  ];
  const target = { apiVersion: 'v1', kind: 'Node', name: 'none' };
  return [
    { method: 'DELETE', path, body: { gracePeriodSeconds: 0 } },
    {
      method: 'POST',
      path: path.slice(0, path.lastIndexOf('/')),
      body: { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec },
    },
    ...Array.from(
      { length: 3 },
      (): Unnumbered => ({
        method: 'PATCH',
        path,
        contentType: random.chance(0.7) ? MERGE : STRATEGIC,
        body: { spec: random.pick<object>(changes) },
      }),
    ),
    {
      method: 'POST',
      path: `${path}/binding`,
      body: { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target },
      query: { dryRun: 'All' },
    },
  ];
}

/** Directives of strategic patches where there may be nothing to merge with. */
function directives(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered[] {
  if (kind.isCustom) return exported(random, path);
  const body = random.pick<object>([
    { metadata: { labels: { $patch: 'replace', app: 'z' } } },
    { metadata: { annotations: { $patch: 'delete' } } },
    { metadata: { ownerReferences: [{ $patch: 'replace' }] } },
    { metadata: { finalizers: null, labels: { app: null, tier: 'x' } } },
    { metadata: { $retainKeys: ['name', 'labels'], labels: { app: 'x' } } },
  ]);
  return [{ method: 'PATCH', path, contentType: STRATEGIC, body }];
}

function watchWithoutBookmarks(random: SeededRandom, kind: GeneratedKind): Unnumbered[] {
  const query = {
    ...(isShared(kind) && { labelSelector: 'app=only-{ns}' }),
    ...random.pick<Record<string, string>>([
      { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' },
      { sendInitialEvents: '', resourceVersionMatch: 'NotOlderThan' },
      { sendInitialEvents: 'false', resourceVersionMatch: 'NotOlderThan' },
      { sendInitialEvents: 'true', resourceVersionMatch: 'Exact' },
      { resourceVersionMatch: 'NotOlderThan' },
      { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', resourceVersion: '0' },
      { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', resourceVersion: 'x' },
      { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', limit: '1' },
      { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: 'false' },
      { continue: 'x' },
    ]),
    watch: 'true',
  };
  return [{ method: 'GET', path: kind.collection, query, watch: true }];
}

/** Later pages show the revision of the first, whatever was written and deleted in between. */
function pagesUnderWrites(random: SeededRandom, kind: GeneratedKind, turn: number): Unnumbered[] {
  const query = { limit: '1', ...(isShared(kind) && { labelSelector: 'app=only-{ns}' }) };
  const next = (id: number, more: Record<string, string> = {}) => ({ ...query, ...more, continue: `@continue:${id}` });
  const path = `${kind.collection}/${kind.names[1] ?? kind.names[0]}`;
  const write: Unnumbered =
    isShared(kind) || random.chance(0.7)
      ? { method: 'PATCH', path, contentType: MERGE, body: { metadata: { labels: { tier: 'paged' } } } }
      : { method: 'DELETE', path };
  const second = random.pick<Record<string, string>>([{}, {}, { limit: '500' }, { fieldSelector: 'metadata.name!=a' }]);
  return [
    { method: 'GET', path: kind.collection, query },
    create(random, kind),
    write,
    { method: 'GET', path: kind.collection, query: next(turn + 1, second) },
    { method: 'GET', path: kind.collection, query: next(turn + 4) },
  ];
}
