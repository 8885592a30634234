import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { isConflict, isNotFound, isTooManyRequests, TransportError } from '../errors.ts';
import { externalKind } from '../kind.ts';
import type { Logger } from '../logger.ts';
import type { KubeObject, UnknownObject } from '../object.ts';
import type { RequestObservation } from './caller.ts';
import { type ClientOptions, createClient } from './create-client.ts';
import type { ApiRequest, ApiResponse, Transport, WatchEvent } from './transport.ts';

const Pod = externalKind<UnknownObject>({ group: '', version: 'v1', kind: 'Pod', plural: 'pods', scope: 'Namespaced' });
const Deployment = externalKind<UnknownObject>({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  scope: 'Namespaced',
});
const Node = externalKind<UnknownObject>({ group: '', version: 'v1', kind: 'Node', plural: 'nodes', scope: 'Cluster' });

type Answer = Partial<ApiResponse> | Error;

/** Creates a transport that returns these answers in order and records the requests. The last answer is repeated. */
function scripted(answers: Answer[], events: readonly (readonly WatchEvent[])[] = []) {
  const asked: ApiRequest[] = [];
  const transport: Transport = {
    address: 'https://cluster.example:6443',
    async request(request) {
      const answer = answers[Math.min(asked.length, answers.length - 1)] ?? {};
      asked.push(request);
      if (answer instanceof Error) throw answer;
      return { status: 200, headers: {}, body: undefined, ...answer };
    },
    async watch(request) {
      asked.push(request);
      const [answer] = answers;
      if (answer instanceof Error) throw answer;
      if (answer?.status !== undefined) return { headers: {}, body: undefined, status: answer.status, ...answer };
      return (async function* () {
        yield* events;
      })();
    },
    async close() {},
  };
  return { asked, transport };
}

function setup(answers: Answer[], options: Partial<ClientOptions> = {}) {
  const clock = createVirtualClock();
  const script = scripted(answers);
  const observed: RequestObservation[] = [];
  const client = createClient({
    transport: script.transport,
    clock,
    random: () => 0.5,
    observe: (observation) => observed.push(observation),
    ...options,
  });
  return { clock, client, observed, asked: script.asked };
}

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', namespace: 'n' } };
const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a', namespace: 'n' } };

test('each operation sends the path, the parameters and the media types of the API', async () => {
  const { client, asked } = setup([{ body: pod }]);
  const line = async (call: Promise<unknown>) => {
    await call.catch(() => {});
    const last = asked.at(-1);
    assert.ok(last);
    const query = new URLSearchParams(last.query).toString();
    const type = last.contentType ?? '';
    return [last.method, last.path + (query && `?${query}`), type].filter((part) => part !== '').join(' ');
  };
  const ref = { namespace: 'n', name: 'a' };
  assert.equal(await line(client.get(Pod, ref)), 'GET /api/v1/namespaces/n/pods/a');
  assert.equal(await line(client.get(Node, ref)), 'GET /api/v1/nodes/a');
  assert.equal(
    await line(client.get(Deployment, ref, { subresource: 'scale', resourceVersion: '0' })),
    'GET /apis/apps/v1/namespaces/n/deployments/a/scale?resourceVersion=0',
  );
  assert.equal(await line(client.get(Node, { name: 'system:x y' })), 'GET /api/v1/nodes/system%3Ax%20y');
  assert.equal(
    await line(
      client.list(Deployment, { labelSelector: 'a=b', limit: 3, resourceVersion: '7', resourceVersionMatch: 'Exact' }),
    ),
    'GET /apis/apps/v1/deployments?labelSelector=a%3Db&limit=3&resourceVersion=7&resourceVersionMatch=Exact',
  );
  assert.equal(
    await line(
      client.watch(Pod, { namespace: 'n', sendInitialEvents: true, allowBookmarks: true, timeoutSeconds: 300 }),
    ),
    'GET /api/v1/namespaces/n/pods?watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
  );
  assert.equal(
    await line(client.create(Pod, pod, { dryRun: true, fieldManager: 'me', fieldValidation: 'Strict' })),
    'POST /api/v1/namespaces/n/pods?fieldManager=me&fieldValidation=Strict&dryRun=All',
  );
  assert.equal(
    await line(client.update(Pod, pod, { subresource: 'status' })),
    'PUT /api/v1/namespaces/n/pods/a/status',
  );
  assert.equal(
    await line(client.patch(Pod, ref, 'json', [])),
    'PATCH /api/v1/namespaces/n/pods/a application/json-patch+json',
  );
  assert.equal(
    await line(client.patch(Pod, ref, 'merge', {})),
    'PATCH /api/v1/namespaces/n/pods/a application/merge-patch+json',
  );
  assert.equal(
    await line(client.patch(Pod, ref, 'strategic', {})),
    'PATCH /api/v1/namespaces/n/pods/a application/strategic-merge-patch+json',
  );
  assert.equal(
    await line(client.apply(Deployment, deployment, { fieldManager: 'me', force: false })),
    'PATCH /apis/apps/v1/namespaces/n/deployments/a?fieldManager=me&force=false application/apply-patch+yaml',
  );
  assert.equal(
    await line(client.create(Pod, pod, { subresource: 'eviction' })),
    'POST /api/v1/namespaces/n/pods/a/eviction',
  );
  assert.equal(asked.at(-1)?.headers?.['user-agent'], 'capstan');
});

test('a delete carries its options and preconditions in the body', async () => {
  const { client, asked } = setup([{ body: { kind: 'Status', status: 'Success' } }]);
  const gone = await client.delete(
    Pod,
    { namespace: 'n', name: 'a' },
    {
      preconditions: { uid: 'u', resourceVersion: '3' },
      propagationPolicy: 'Foreground',
      gracePeriodSeconds: 0,
      dryRun: true,
    },
  );
  assert.equal(gone, undefined);
  assert.deepEqual(asked[0]?.body, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: 'Foreground',
    gracePeriodSeconds: 0,
    preconditions: { uid: 'u', resourceVersion: '3' },
    dryRun: ['All'],
  });
});

test('a delete returns the object only if it lingers', async () => {
  const held = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: 't', finalizers: ['x/y'] } };
  assert.deepEqual(await setup([{ body: held }]).client.delete(Pod, { namespace: 'n', name: 'a' }), held);
  const ended = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: 't', deletionGracePeriodSeconds: 0 } };
  assert.equal(await setup([{ body: ended }]).client.delete(Pod, { namespace: 'n', name: 'a' }), undefined);
});

test('requests whose path would mean another object are refused before they are sent', async () => {
  const { client, asked } = setup([{ body: pod }]);
  await assert.rejects(
    client.get(Pod, { namespace: 'n', name: '' }),
    /cannot get a Pod without a name; set metadata\.name/,
  );
  await assert.rejects(client.get(Pod, { name: 'a' }), /without a namespace/);
  await assert.rejects(client.get(Pod, { namespace: 'n', name: '..' }), /no object can have that name/);
  await assert.rejects(client.get(Pod, { namespace: '../x', name: 'a' }), /no object can have that name/);
  await assert.rejects(
    client.apply(Pod, deployment, { fieldManager: 'me', force: true }),
    /cannot send an object of apps\/v1 Deployment as v1 Pod/,
  );
  assert.equal(asked.length, 0);
});

test('items of a list get their apiVersion and kind, and the answer is not changed', async () => {
  const item = Object.freeze({ metadata: { name: 'a' }, spec: {} });
  const { client } = setup([
    { body: { metadata: { resourceVersion: '5', remainingItemCount: 2, continue: 'c' }, items: [item] } },
  ]);
  assert.deepEqual(await client.list(Pod), {
    items: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: {} }],
    resourceVersion: '5',
    remainingItemCount: 2,
    continue: 'c',
  });
  assert.deepEqual(await setup([{ body: { metadata: { resourceVersion: '5' }, items: null } }]).client.list(Pod), {
    items: [],
    resourceVersion: '5',
  });
});

test('pages follow the continue token without the resourceVersion of the first page', async () => {
  const page = (names: string[], token?: string) => ({
    body: { metadata: { resourceVersion: '9', continue: token }, items: names.map((name) => ({ metadata: { name } })) },
  });
  const { client, asked } = setup([page(['a', 'b'], 'one'), page(['c'], 'two'), page(['d'])]);
  const names: (string | undefined)[] = [];
  for await (const { items } of client.pages(Pod, { resourceVersion: '0', labelSelector: 'x' })) {
    names.push(...items.map((item: KubeObject) => item.metadata.name));
  }
  assert.deepEqual(names, ['a', 'b', 'c', 'd']);
  assert.deepEqual(
    asked.map(({ query }) => query),
    [
      { labelSelector: 'x', limit: '500', resourceVersion: '0' },
      { labelSelector: 'x', limit: '500', continue: 'one' },
      { labelSelector: 'x', limit: '500', continue: 'two' },
    ],
  );
});

test('metadata-only objects keep the name of their kind, in lists, gets and watches', async () => {
  const partial = { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: { name: 'a' } };
  const expected = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } };
  const { client, asked } = setup([{ body: partial }]);
  assert.deepEqual(await client.get(Pod, { namespace: 'n', name: 'a' }, { metadataOnly: true }), expected);
  assert.match(asked[0]?.accept ?? '', /as=PartialObjectMetadata;g=meta\.k8s\.io;v=v1/);

  const failure: WatchEvent = { type: 'ERROR', object: { kind: 'Status', code: 410 } };
  const watching = createClient({ transport: scripted([], [[{ type: 'ADDED', object: partial }, failure]]).transport });
  const batches: (readonly WatchEvent[])[] = [];
  for await (const batch of await watching.watch(Pod, { metadataOnly: true })) batches.push(batch);
  assert.deepEqual(batches, [[{ type: 'ADDED', object: expected }, failure]]);
});

test('find returns undefined for an absent object and throws for a failure', async () => {
  const ref = { namespace: 'n', name: 'a' };
  assert.equal(await setup([{ status: 404 }]).client.find(Pod, ref), undefined);
  assert.deepEqual(await setup([{ body: pod }]).client.find(Pod, ref), pod);
  await assert.rejects(setup([{ status: 403 }]).client.find(Pod, ref), { code: 403 });
});

test("errors carry the server's message, the request and a remedy", async () => {
  const status = {
    kind: 'Status',
    code: 409,
    reason: 'Conflict',
    message: 'Operation cannot be fulfilled: the object has been modified.',
  };
  const error = await setup([{ status: 409, body: status }])
    .client.update(Pod, pod)
    .catch((thrown: unknown) => thrown);
  assert.equal(isNotFound(error), false);
  assert.ok(isConflict(error));
  assert.equal(error.reason, 'Conflict');
  assert.equal(
    error.message,
    'PUT /api/v1/namespaces/n/pods/a at https://cluster.example:6443: Operation cannot be fulfilled: the object has been modified. (409 Conflict); read the object again and repeat the change on what is there now',
  );
});

test('after a 429, the call waits at least the requested time and then succeeds', async () => {
  const { client, clock, asked, observed } = setup([
    { status: 429, headers: { 'retry-after': '3' } },
    { status: 503 },
    { body: pod },
  ]);
  const call = client.create(Pod, pod);
  await clock.advance(2_999);
  assert.equal(asked.length, 1);
  await clock.advance(200);
  assert.equal(asked.length, 2);
  await clock.advance(400);
  assert.deepEqual(await call, pod);
  assert.deepEqual(
    observed.map(({ code, retry, host, method }) => ({ code, retry, host, method })),
    [429, 503, 200].map((code, retry) => ({ code, retry, host: 'cluster.example:6443', method: 'POST' })),
  );
  assert.equal(clock.pendingTimers, 0);
});

test('the client and the call limit the number of attempts', async () => {
  const refused = new TransportError('refused', 'https://cluster.example:6443');
  const { client, clock, asked, observed } = setup([refused]);
  const call = assert.rejects(client.get(Pod, { namespace: 'n', name: 'a' }), { kind: 'refused' });
  await clock.runUntilIdle(60_000);
  await call;
  assert.equal(asked.length, 5);
  assert.ok(observed.every(({ code }) => code === '<error>'));
  await assert.rejects(client.get(Pod, { namespace: 'n', name: 'a' }, { attempts: 1 }), { kind: 'refused' });
  assert.equal(asked.length, 6);
});

test('a create whose answer was lost is not sent again, but an apply is', async () => {
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  const creating = setup([reset, { body: pod }]);
  await assert.rejects(creating.client.create(Pod, pod), { name: 'TransportError', kind: 'reset', maybeSent: true });
  assert.equal(creating.asked.length, 1);

  const applying = setup([reset, { body: deployment }]);
  const call = applying.client.apply(Deployment, deployment, { fieldManager: 'me', force: true });
  await applying.clock.runUntilIdle(10_000);
  assert.deepEqual(await call, deployment);
});

test('a call that cannot be retried before its time-out fails at once', async () => {
  const { client, clock, asked } = setup([{ status: 429, headers: { 'retry-after': '4' } }]);
  const start = clock.now();
  const call = client.get(Pod, { namespace: 'n', name: 'a' }, { timeoutMs: 10_000 }).catch((error: unknown) => error);
  await clock.runUntilIdle(60_000);
  const error = await call;
  assert.ok(isTooManyRequests(error));
  assert.equal(error.retryAfterSeconds, 4);
  assert.ok(clock.now() - start <= 10_000);
  assert.equal(asked.length, 3);
  assert.ok((asked[2]?.timeoutMs ?? 0) < 2_000, 'the last attempt gets what is left');
});

test('an abort ends the wait between attempts at once', async () => {
  const { client, clock, asked } = setup([{ status: 503 }]);
  const controller = new AbortController();
  const call = assert.rejects(client.get(Pod, { namespace: 'n', name: 'a' }, { signal: controller.signal }), {
    name: 'TransportError',
    kind: 'aborted',
  });
  await clock.settle();
  assert.equal(asked.length, 1);
  controller.abort();
  await call;
  assert.equal(clock.pendingTimers, 0);
});

test('a refused watch is an ApiError and is not retried', async () => {
  const { client, asked } = setup([{ status: 429, headers: { 'retry-after': '1' } }]);
  await assert.rejects(client.watch(Pod), { name: 'ApiError', code: 429, retryAfterSeconds: 1 });
  assert.equal(asked.length, 1);
});

test('each warning of the server is logged once', async () => {
  const warnings: unknown[] = [];
  const logger: Logger = {
    debug() {},
    info() {},
    warn: (_message, fields) => warnings.push(fields?.['warning']),
    error() {},
    with: () => logger,
  };
  const headers = { warning: '299 - "v1beta1 is \\"old\\"", 299 - "unknown field"' };
  const { client } = setup([{ body: pod, headers }], { logger });
  await client.update(Pod, pod);
  await client.update(Pod, pod);
  assert.deepEqual(warnings, ['v1beta1 is "old"', 'unknown field']);
});

test('an answer that is not an object is an error', async () => {
  const { client } = setup([{ body: '<html>' }]);
  await assert.rejects(client.get(Pod, { namespace: 'n', name: 'a' }), { name: 'TransportError', kind: 'malformed' });
  await assert.rejects(client.list(Pod), { name: 'TransportError', kind: 'malformed' });
});
