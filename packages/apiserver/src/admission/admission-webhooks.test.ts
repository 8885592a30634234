import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { connect, systemClock } from '@capstan/kube';
import { startCluster } from '../cluster/start-cluster.ts';
import {
  CONFIG_MAPS,
  CRDS,
  configMap,
  DEPLOYMENTS,
  definition,
  deployment,
  seeded,
  type TestServer,
  testServer,
  WIDGETS,
  widget,
} from '../server.test-support.ts';
import { memoryStorage } from '../store/storage.ts';
import { patch, type Say, type WebhookServer, webhookServer } from './webhook-server.test-support.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';

const everything = (resources: string[], operations = ['*']) => [
  { apiGroups: ['*'], apiVersions: ['*'], operations, resources },
];

interface Given {
  name?: string;
  kind?: 'Mutating' | 'Validating';
  webhooks: object[];
}

async function register({ ok }: TestServer, { name = 'hooks', kind = 'Validating', webhooks }: Given) {
  await ok('POST', `${REGISTRATION}/${kind.toLowerCase()}webhookconfigurations`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: { name },
    webhooks,
  });
}

const webhook = (client: object, more: object = {}) => ({
  name: 'judge.example.com',
  clientConfig: client,
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  rules: everything(['configmaps']),
  ...more,
});

async function stage(
  t: TestContext,
  say: Say,
  more: object = {},
  kind: 'Mutating' | 'Validating' = 'Validating',
): Promise<TestServer & { hook: WebhookServer }> {
  const hook = await webhookServer(t, say);
  const server = testServer();
  t.after(() => server.server.close());
  await register(server, { kind, webhooks: [webhook(hook.at('/review'), more)] });
  return { ...server, hook };
}

const yes = () => ({ allowed: true });
const no = () => ({ allowed: false, status: { message: 'not on a Friday', code: 403, reason: 'Forbidden' } });

describe('a validating webhook', () => {
  it('receives everything about a write', async (t) => {
    const { ok, hook } = await stage(t, yes);
    await ok('POST', CONFIG_MAPS, configMap('a', { k: '1' }), { query: { fieldManager: 'me' } });
    await ok('PATCH', `${CONFIG_MAPS}/a`, { data: { k: '2' } }, { contentType: 'application/merge-patch+json' });
    await ok('DELETE', `${CONFIG_MAPS}/a`, { gracePeriodSeconds: 0 });
    const [create, update, remove] = hook.asked.map(({ request }) => request);
    assert.equal(hook.asked.length, 3);
    assert.equal(hook.asked[0]?.path, '/review?timeout=10s');
    assert.ok(create && update && remove);
    const { uid, object, ...about } = create;
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.equal(object?.metadata.name, 'a');
    assert.deepEqual(about, {
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
      requestResource: { group: '', version: 'v1', resource: 'configmaps' },
      name: 'a',
      namespace: 'default',
      operation: 'CREATE',
      userInfo: { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] },
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'me', fieldValidation: 'Warn' },
    });
    assert.deepEqual(
      [update.operation, update.oldObject?.['data'], update.object?.['data'], update.options['kind']],
      ['UPDATE', { k: '1' }, { k: '2' }, 'UpdateOptions'],
    );
    assert.deepEqual(
      [remove.operation, remove.oldObject?.['data'], remove.object, remove.options['gracePeriodSeconds']],
      ['DELETE', { k: '2' }, null, 0],
    );
  });

  it('refuses with its own words, code and reason, and nothing is stored', async (t) => {
    const { refused } = await stage(t, no);
    const status = await refused('POST', CONFIG_MAPS, configMap('a'));
    assert.deepEqual(
      [status.code, status.reason, status.message],
      [403, 'Forbidden', 'admission webhook "judge.example.com" denied the request: not on a Friday'],
    );
    assert.equal((await refused('GET', `${CONFIG_MAPS}/a`)).code, 404);
  });

  it('refuses without explanation as a bad request', async (t) => {
    const { refused } = await stage(t, () => ({ allowed: false }));
    const status = await refused('POST', CONFIG_MAPS, configMap('a'));
    const message = 'admission webhook "judge.example.com" denied the request without explanation';
    assert.deepEqual([status.code, status.message], [400, message]);
  });

  it('sees no object that validation refuses, and sees the name that was drawn', async (t) => {
    const { ok, refused, hook } = await stage(t, yes);
    assert.equal((await refused('POST', CONFIG_MAPS, configMap('Not_A_Name'))).code, 422);
    assert.equal(hook.asked.length, 0);
    const { metadata } = await ok('POST', CONFIG_MAPS, { ...configMap('x'), metadata: { generateName: 'gen-' } });
    assert.equal(hook.asked[0]?.request.name, metadata.name);
  });

  it('is asked together with the others, and all are waited for', async (t) => {
    const hook = await webhookServer(t, (_, path) => (path.startsWith('/b') ? no() : yes()));
    const server = testServer();
    t.after(() => server.server.close());
    const webhooks = ['a', 'b', 'c'].map((one) => webhook(hook.at(`/${one}`), { name: `${one}.example.com` }));
    await register(server, { webhooks });
    const status = await server.refused('POST', CONFIG_MAPS, configMap('a'));
    assert.match(status.message ?? '', /^admission webhook "b.example.com" denied/);
    assert.equal(hook.asked.length, 3);
  });

  it('warns the client, in answers and in refusals', async (t) => {
    const say: Say = ({ operation }) => ({ allowed: operation === 'CREATE', warnings: ['this "is" old', 'très'] });
    const { send } = await stage(t, say);
    const created = await send('POST', CONFIG_MAPS, configMap('a'));
    assert.equal(created.headers['warning'], '299 - "this \\"is\\" old", 299 - "très"');
    const kept = await send('DELETE', `${CONFIG_MAPS}/a`);
    assert.equal(kept.status, 400);
    assert.equal(kept.headers['warning'], '299 - "this \\"is\\" old", 299 - "très"');
  });

  it('may not patch', async (t) => {
    const { refused } = await stage(t, () => patch({ op: 'add', path: '/data', value: {} }));
    const status = await refused('POST', CONFIG_MAPS, configMap('a'));
    assert.match(
      status.message ?? '',
      /received invalid webhook response: validating webhook may not return response.patch$/,
    );
  });

  it('does not keep anybody from writing webhook configurations', async (t) => {
    const { ok } = await stage(t, no, { rules: everything(['*/*']) });
    await ok('DELETE', `${REGISTRATION}/validatingwebhookconfigurations/hooks`);
    await ok('POST', CONFIG_MAPS, configMap('a'));
  });

  it('sees the object again when another client wrote it meanwhile', async (t) => {
    const { ok, hook, server } = await stage(t, yes, { rules: everything(['configmaps'], ['UPDATE']) });
    await ok('POST', CONFIG_MAPS, configMap('a'));
    const other = hook.next();
    const merge = { contentType: 'application/merge-patch+json' };
    const first = ok('PATCH', `${CONFIG_MAPS}/a`, { data: { one: '1' } }, merge);
    const second = ok('PATCH', `${CONFIG_MAPS}/a`, { data: { two: '2' } }, merge);
    await Promise.all([other, first, second]);
    const { data } = (await ok('GET', `${CONFIG_MAPS}/a`)) as unknown as { data: object };
    assert.deepEqual(data, { one: '1', two: '2' });
    assert.equal(hook.asked.length, 3);
    assert.ok(server.revision > 0);
  });
});

describe('a webhook that cannot be asked', () => {
  const url = (port: number) => `https://127.0.0.1:${port}/review?timeout=10s`;
  const failure = (why: string) =>
    `Internal error occurred: failed calling webhook "judge.example.com": failed to call webhook: ${why}`;

  it('refuses the write when it takes longer than its timeout', async (t) => {
    const { refused, hook, clock } = await stage(t, () => 'hang', { timeoutSeconds: 3 });
    const arrived = hook.next();
    const waiting = refused('POST', CONFIG_MAPS, configMap('a'));
    await arrived;
    await clock.advance(2_999);
    assert.equal(await Promise.race([waiting.then(() => 'answered'), clock.yield()]), undefined);
    await clock.advance(1);
    const status = await waiting;
    const at = url(hook.port).replace('10s', '3s');
    assert.deepEqual(
      [status.code, status.reason, status.message],
      [500, 'InternalError', failure(`Post "${at}": context deadline exceeded`)],
    );
  });

  it('lets the write pass when its failurePolicy is Ignore', async (t) => {
    const { ok } = await stage(t, () => ({ raw: 'broken', status: 500 }), { failurePolicy: 'Ignore' });
    await ok('POST', CONFIG_MAPS, configMap('a'));
  });

  it('still refuses what it denies when its failurePolicy is Ignore', async (t) => {
    const { refused } = await stage(t, no, { failurePolicy: 'Ignore' });
    assert.equal((await refused('POST', CONFIG_MAPS, configMap('a'))).code, 403);
  });

  it('is not believed with a certificate of another authority, or for another name', async (t) => {
    const other = await webhookServer(t, yes);
    const named = await webhookServer(t, yes, { dnsNames: ['elsewhere.example.com'], ipAddresses: [] });
    const server = testServer();
    t.after(() => server.server.close());
    const client = { ...named.at('/review'), caBundle: other.caBundle };
    await register(server, { name: 'a', webhooks: [webhook(client)] });
    const unknown = await server.refused('POST', CONFIG_MAPS, configMap('a'));
    const signed = 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
    assert.equal(unknown.message, failure(`Post "${url(named.port)}": ${signed}`));
    await server.ok('DELETE', `${REGISTRATION}/validatingwebhookconfigurations/a`);
    await register(server, { name: 'b', webhooks: [webhook(named.at('/review'))] });
    const misnamed = await server.refused('POST', CONFIG_MAPS, configMap('a'));
    const valid =
      'tls: failed to verify certificate: x509: certificate is valid for elsewhere.example.com, not 127.0.0.1';
    assert.equal(misnamed.message, failure(`Post "${url(named.port)}": ${valid}`));
    assert.equal(named.asked.length, 0);
  });

  it('is reported with the text of its HTTP answer', async (t) => {
    const answers: [raw: string, status: number, why: string][] = [
      ['broken', 500, 'an error on the server ("broken") has prevented the request from succeeding'],
      ['', 404, 'the server could not find the requested resource'],
      ['', 503, 'the server is currently unable to handle the request'],
      ['<html>', 200, "couldn't get version/kind; the response is not JSON"],
    ];
    let turn = 0;
    const { refused } = await stage(t, () => {
      const [raw, status] = answers[turn] ?? ['', 200];
      turn += 1;
      return { raw, status };
    });
    for (const [, , why] of answers) {
      assert.equal((await refused('POST', CONFIG_MAPS, configMap('a'))).message, failure(why));
    }
  });

  it('is one whose answer is to another question', async (t) => {
    const { refused } = await stage(t, () => ({ allowed: true, uid: 'other' }));
    const { message = '' } = await refused('POST', CONFIG_MAPS, configMap('a'));
    assert.match(message, /received invalid webhook response: expected response.uid="[0-9a-f-]{36}", got "other"$/);
  });

  it('is asked again when it had closed a connection that was kept, and not when the connection is new', async (t) => {
    let turn = 0;
    const { ok, refused, hook } = await stage(t, () => {
      turn += 1;
      return turn === 2 || turn === 4 || turn === 5 ? 'drop' : yes();
    });
    await ok('POST', CONFIG_MAPS, configMap('a'));
    await ok('POST', CONFIG_MAPS, configMap('b'));
    assert.equal(hook.asked.length, 3);
    const { message } = await refused('POST', CONFIG_MAPS, configMap('c'));
    assert.equal(message, failure(`Post "${url(hook.port)}": EOF`));
    assert.equal(hook.asked.length, 5);
  });

  it('is one that does not listen', async (t) => {
    const server = testServer();
    t.after(() => server.server.close());
    // Port 1 of the last loopback address: nothing has it.
    await register(server, { webhooks: [webhook({ url: 'https://127.255.255.254:1/x' })] });
    const { message = '' } = await server.refused('POST', CONFIG_MAPS, configMap('a'));
    const why = 'dial tcp 127.255.255.254:1: connect: connection refused';
    assert.equal(message, failure(`Post "https://127.255.255.254:1/x?timeout=10s": ${why}`));
  });
});

describe('a dry run', () => {
  it('is sent to webhooks, and stores nothing', async (t) => {
    const { ok, refused, hook } = await stage(t, yes, { sideEffects: 'NoneOnDryRun' });
    await ok('POST', CONFIG_MAPS, configMap('a'), { query: { dryRun: 'All' } });
    assert.deepEqual([hook.asked[0]?.request.dryRun, hook.asked[0]?.request.options['dryRun']], [true, ['All']]);
    assert.equal((await refused('GET', `${CONFIG_MAPS}/a`)).code, 404);
  });

  it('is refused by a webhook that may have side effects, without asking it', async (t) => {
    const hook = await webhookServer(t, yes);
    // Such a configuration can no longer be written, but an old one may exist.
    const object = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'old', resourceVersion: '1' },
      webhooks: [webhook(hook.at('/'), { sideEffects: 'Some' })],
    };
    const resource = 'admissionregistration.k8s.io/validatingwebhookconfigurations';
    const load = () => ({ revision: 1, objects: [{ resource, key: 'old', object }] });
    const server = testServer({ storage: { ...memoryStorage(), load } });
    t.after(() => server.server.close());
    const status = await server.refused('POST', CONFIG_MAPS, configMap('a'), { query: { dryRun: 'All' } });
    const message = 'admission webhook "judge.example.com" does not support dry run';
    assert.deepEqual([status.code, status.message, hook.asked.length], [400, message, 0]);
    await server.ok('POST', CONFIG_MAPS, configMap('a'));
    assert.equal(hook.asked.length, 1);
  });
});

describe('a mutating webhook', () => {
  const label = (name: string) => patch({ op: 'add', path: '/metadata/labels', value: { by: name } });

  it('changes what is stored, defaults and pruning included', async (t) => {
    const hook = await webhookServer(t, () =>
      patch(
        { op: 'add', path: '/spec', value: { size: 2, unheardOf: true } },
        { op: 'add', path: '/status', value: {} },
      ),
    );
    const server = testServer();
    t.after(() => server.server.close());
    await server.ok('POST', CRDS, definition());
    await server.server.idle();
    const webhooks = [webhook(hook.at('/'), { rules: everything(['widgets'], ['CREATE']) })];
    await register(server, { kind: 'Mutating', webhooks });
    const made = await server.ok('POST', WIDGETS, widget('w', { size: 1 }));
    assert.deepEqual(made['spec'], { size: 2, mode: 'Auto' });
    assert.equal(made['status'], undefined);
    assert.ok(made.metadata.uid);
  });

  it('is judged by validation like anybody', async (t) => {
    const say = () => patch({ op: 'add', path: '/metadata/labels', value: { 'not a label': 'x' } });
    const { refused } = await stage(t, say, {}, 'Mutating');
    assert.equal((await refused('POST', CONFIG_MAPS, configMap('a'))).reason, 'Invalid');
  });

  it('may not move an object to another namespace or make something else of it', async (t) => {
    const moves = [
      { op: 'replace', path: '/metadata/namespace', value: 'kube-system' },
      { op: 'replace', path: '/kind', value: 'Secret' },
      { op: 'remove', path: '/not/there' },
    ];
    let turn = 0;
    const { refused } = await stage(
      t,
      () => {
        turn += 1;
        return patch(moves[turn - 1] ?? {});
      },
      {},
      'Mutating',
    );
    assert.match((await refused('POST', CONFIG_MAPS, configMap('a'))).message ?? '', /^the namespace of the provided/);
    assert.equal((await refused('POST', CONFIG_MAPS, configMap('a'))).code, 500);
    assert.equal((await refused('POST', CONFIG_MAPS, configMap('a'))).code, 500);
  });

  it('follows the others by the name of its configuration, and sees what they made', async (t) => {
    const hook = await webhookServer(t, (_, path) => label(path.slice(1, 2)));
    const server = testServer();
    t.after(() => server.server.close());
    for (const name of ['b', 'a']) {
      await register(server, { name, kind: 'Mutating', webhooks: [webhook(hook.at(`/${name}`))] });
    }
    const made = await server.ok('POST', CONFIG_MAPS, configMap('x'));
    assert.deepEqual(made.metadata.labels, { by: 'b' });
    assert.deepEqual(
      hook.asked.map(({ path, request }) => [path[1], request.object?.metadata.labels?.['by']]),
      [
        ['a', undefined],
        ['b', 'a'],
      ],
    );
  });

  it('is asked once more after a later change when its reinvocationPolicy is IfNeeded', async (t) => {
    const hook = await webhookServer(t, (_, path) => (path.startsWith('/b') ? label('b') : yes()));
    const server = testServer();
    t.after(() => server.server.close());
    const webhooks = [
      webhook(hook.at('/a'), { name: 'a.example.com', reinvocationPolicy: 'IfNeeded' }),
      webhook(hook.at('/n'), { name: 'n.example.com' }),
      webhook(hook.at('/b'), { name: 'b.example.com', reinvocationPolicy: 'IfNeeded' }),
      webhook(hook.at('/c'), { name: 'c.example.com', reinvocationPolicy: 'IfNeeded' }),
    ];
    await register(server, { kind: 'Mutating', webhooks });
    await server.ok('POST', CONFIG_MAPS, configMap('x'));
    assert.deepEqual(
      hook.asked.map(({ path }) => path[1]),
      ['a', 'n', 'b', 'c', 'a'],
    );
    assert.equal(hook.asked[4]?.request.object?.metadata.labels?.['by'], 'b');
  });

  it('speaks v1beta1 when it knows nothing else', async (t) => {
    const say: Say = () => ({ allowed: true, patch: label('old').patch });
    const { ok, hook } = await stage(t, say, { admissionReviewVersions: ['v2', 'v1beta1'] }, 'Mutating');
    const made = await ok('POST', CONFIG_MAPS, configMap('x'));
    assert.equal(hook.asked[0]?.apiVersion, 'admission.k8s.io/v1beta1');
    assert.deepEqual(made.metadata.labels, { by: 'old' });
  });
});

describe('what a webhook is asked about', () => {
  it('is chosen by the labels of the namespace, of namespaces themselves too', async (t) => {
    const selector = { namespaceSelector: { matchLabels: { watched: 'yes' } } };
    const rules = everything(['configmaps', 'namespaces', 'clusterroles'], ['CREATE', 'DELETE']);
    const { ok, hook } = await stage(t, yes, { ...selector, rules });
    const namespace = (name: string, labels: object) =>
      ok('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
    await namespace('plain', {});
    await namespace('seen', { watched: 'yes' });
    await ok('POST', '/api/v1/namespaces/plain/configmaps', configMap('a'));
    await ok('POST', '/api/v1/namespaces/seen/configmaps', configMap('a'));
    await ok('DELETE', '/api/v1/namespaces/plain');
    const rbac = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    await ok('POST', rbac, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'r' },
    });
    assert.deepEqual(
      hook.asked.map(({ request: { operation, resource, namespace: where, name } }) =>
        [operation, resource.resource, where, name].join(' '),
      ),
      ['CREATE namespaces seen seen', 'CREATE configmaps seen a', 'CREATE clusterroles  r'],
    );
  });

  it('is chosen by the labels that the object has or had', async (t) => {
    const { ok, hook } = await stage(t, yes, { objectSelector: { matchLabels: { watched: 'yes' } } });
    await ok('POST', CONFIG_MAPS, configMap('a'));
    await ok('POST', CONFIG_MAPS, configMap('b', {}, { labels: { watched: 'yes' } }));
    await ok('PUT', `${CONFIG_MAPS}/b`, configMap('b'));
    await ok('PUT', `${CONFIG_MAPS}/b`, configMap('b', { k: 'v' }));
    assert.deepEqual(
      hook.asked.map(({ request }) => `${request.operation} ${request.name}`),
      ['CREATE b', 'UPDATE b'],
    );
  });

  it('is chosen by conditions, which fail as the webhook would', async (t) => {
    const condition = (expression: string) => ({ matchConditions: [{ name: 'c', expression }] });
    const { ok, refused, hook } = await stage(
      t,
      yes,
      condition('request.operation == "CREATE" && object.data.size() > 1 && request.userInfo.username != "nobody"'),
    );
    await ok('POST', CONFIG_MAPS, configMap('a', { one: '1' }));
    await ok('POST', CONFIG_MAPS, configMap('b', { one: '1', two: '2' }));
    await ok('DELETE', `${CONFIG_MAPS}/b`);
    assert.deepEqual(
      hook.asked.map(({ request }) => request.name),
      ['b'],
    );
    const { message } = await refused('POST', CONFIG_MAPS, { ...configMap('c'), data: undefined });
    assert.match(
      message ?? '',
      /^configmaps "c" is forbidden: expression 'request.operation.*' resulted in error: no such key: data/,
    );
  });

  it('includes subresources only by name, with a kind of their own where they have one', async (t) => {
    const rules = everything(['*/scale', 'deployments/status'], ['UPDATE']);
    const say: Say = ({ subResource }) =>
      subResource === 'scale' ? patch({ op: 'replace', path: '/spec/replicas', value: 5 }) : yes();
    const { ok, hook } = await stage(t, say, { rules }, 'Mutating');
    await ok('POST', DEPLOYMENTS, deployment('d'));
    const merge = { contentType: 'application/merge-patch+json' };
    await ok('PATCH', `${DEPLOYMENTS}/d`, { spec: { replicas: 2 } }, merge);
    const scale = await ok('PATCH', `${DEPLOYMENTS}/d/scale`, { spec: { replicas: 3 } }, merge);
    await ok('PATCH', `${DEPLOYMENTS}/d/status`, { status: { replicas: 1 } }, merge);
    assert.deepEqual(scale['spec'], { replicas: 5 });
    assert.deepEqual(
      hook.asked.map(({ request: { subResource, kind, object, oldObject } }) => [
        subResource,
        kind.kind,
        object?.['kind'],
        oldObject?.['kind'],
      ]),
      [
        ['scale', 'Scale', 'Scale', 'Scale'],
        ['status', 'Deployment', 'Deployment', 'Deployment'],
      ],
    );
  });

  it('includes other versions of the resource, unless it wants exactly the ones it names', async (t) => {
    const hook = await webhookServer(t, (_, path) => (path.startsWith('/equal') ? label() : yes()));
    const label = () => patch({ op: 'add', path: '/metadata/labels', value: { seen: 'yes' } });
    const server = testServer();
    t.after(() => server.server.close());
    const crd = definition();
    const [version] = crd.spec.versions;
    assert.ok(version);
    crd.spec.versions = [version, { ...version, name: 'v2', storage: false }];
    await server.ok('POST', CRDS, crd);
    await server.server.idle();
    const rules = [{ apiGroups: ['example.com'], apiVersions: ['v2'], operations: ['*'], resources: ['widgets'] }];
    const webhooks = [
      webhook(hook.at('/equal'), { rules }),
      webhook(hook.at('/exact'), { name: 'exact.example.com', rules, matchPolicy: 'Exact' }),
    ];
    await register(server, { kind: 'Mutating', webhooks });
    const made = await server.ok('POST', WIDGETS, widget('w', { size: 1 }));
    assert.deepEqual([made.apiVersion, made.metadata.labels], ['example.com/v1', { seen: 'yes' }]);
    assert.deepEqual(
      hook.asked.map(({ path, request: { kind, requestKind, object } }) => [
        path.split('?')[0],
        kind.version,
        requestKind.version,
        object?.['apiVersion'],
      ]),
      [['/equal', 'v2', 'v1', 'example.com/v2']],
    );
  });

  it('includes evictions, as what they are', async (t) => {
    const { ok, refused, hook } = await stage(t, no, { rules: everything(['pods/eviction', 'pods']) });
    await ok('DELETE', `${REGISTRATION}/validatingwebhookconfigurations/hooks`);
    const pods = '/api/v1/namespaces/default/pods';
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await ok('POST', pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
    await register({ ok } as TestServer, {
      webhooks: [webhook(hook.at('/'), { rules: everything(['pods/eviction', 'pods']) })],
    });
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
    assert.equal((await refused('POST', `${pods}/p/eviction`, eviction)).code, 403);
    assert.deepEqual(
      hook.asked.map(({ request: { operation, kind, subResource } }) => [operation, kind.kind, subResource]),
      [['CREATE', 'Eviction', 'eviction']],
    );
  });
});

describe('the controllers of the server', () => {
  it('come back to what a webhook refused them, and go on with the rest', async (t) => {
    let isStubborn = true;
    const say: Say = ({ name }) => ({ allowed: !isStubborn || name !== 'kept' });
    const { ok, refused, server, clock } = await stage(t, say, { rules: everything(['configmaps'], ['DELETE']) });
    await ok('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } });
    for (const name of ['kept', 'other']) await ok('POST', '/api/v1/namespaces/n/configmaps', configMap(name));
    await ok('DELETE', '/api/v1/namespaces/n');
    await server.idle();
    await ok('GET', '/api/v1/namespaces/n/configmaps/kept');
    assert.equal((await refused('GET', '/api/v1/namespaces/n/configmaps/other')).code, 404);
    isStubborn = false;
    await clock.advance(60_000);
    await server.idle();
    assert.equal((await refused('GET', '/api/v1/namespaces/n')).code, 404);
  });
});

describe('a webhook behind a Service', () => {
  it('is reached by the address of the Service, under the name of the Service', async (t) => {
    const server = testServer();
    t.after(() => server.server.close());
    // The server gives out addresses of this machine, so that a webhook can listen at one without a forwarder.
    const services = '/api/v1/namespaces/default/services';
    const made = await server.ok('POST', services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'hook' },
      spec: { ports: [{ port: 443 }] },
    });
    const { clusterIP } = made['spec'] as { clusterIP: string };
    const names = { dnsNames: ['hook.default.svc'], ipAddresses: [] };
    const hook = await webhookServer(t, yes, { ...names, host: clusterIP });
    const patched = { spec: { ports: [{ port: hook.port }] } };
    await server.ok('PATCH', `${services}/hook`, patched, { contentType: 'application/merge-patch+json' });
    const client = (port: number, name = 'hook') => ({
      caBundle: hook.caBundle,
      service: { namespace: 'default', name, port, path: '/here' },
    });
    await register(server, { webhooks: [webhook(client(hook.port))] });
    await server.ok('POST', CONFIG_MAPS, configMap('a'));
    assert.deepEqual(
      hook.asked.map(({ host, path }) => [host, path]),
      [[`hook.default.svc:${hook.port}`, '/here?timeout=10s']],
    );
    await server.ok('DELETE', `${REGISTRATION}/validatingwebhookconfigurations/hooks`);
    await register(server, { webhooks: [webhook(client(443, 'gone'))] });
    const gone = await server.refused('POST', CONFIG_MAPS, configMap('b'));
    assert.match(
      gone.message ?? '',
      /Post "https:\/\/gone.default.svc:443\/here\?timeout=10s": service "gone" not found$/,
    );
    await server.ok('DELETE', `${REGISTRATION}/validatingwebhookconfigurations/hooks`);
    await register(server, { webhooks: [webhook(client(442))] });
    const shut = await server.refused('POST', CONFIG_MAPS, configMap('b'));
    assert.match(shut.message ?? '', /no service port 442 found for service "hook"$/);
  });
});

describe('an embedded cluster', () => {
  it('asks webhooks for clients that come over the network, and sends their warnings as UTF-8', async (t) => {
    const hook = await webhookServer(t, () => ({ allowed: true, warnings: ['déjà vu'] }));
    const cluster = await startCluster({ clock: systemClock, random: seeded(5), port: 0 });
    t.after(() => cluster.close());
    const connection = await connect({
      env: { KUBECONFIG: '/kubeconfig' },
      homeDir: '/',
      readFile: async () => cluster.kubeconfig,
    });
    t.after(() => connection.close());
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'hooks' },
      webhooks: [webhook(hook.at('/'))],
    };
    await connection.request({ method: 'POST', path: `${REGISTRATION}/validatingwebhookconfigurations`, body });
    const created = await connection.request({ method: 'POST', path: CONFIG_MAPS, body: configMap('a') });
    assert.equal(created.status, 201);
    const warning = Buffer.from(created.headers['warning'] ?? '', 'latin1').toString('utf8');
    assert.equal(warning, '299 - "déjà vu"');
    assert.equal(hook.asked[0]?.request.userInfo.username, 'kubernetes-admin');
  });
});

describe('a webhook configuration', () => {
  it('is refused with a URL that is no https URL or a condition that does not compile', async (t) => {
    const server = testServer();
    t.after(() => server.server.close());
    const post = (one: object) =>
      server.refused('POST', `${REGISTRATION}/validatingwebhookconfigurations`, {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'hooks' },
        webhooks: [one],
      });
    const plain = await post(webhook({ url: 'http://example.com' }));
    assert.equal(plain.details?.causes?.[0]?.field, 'webhooks[0].clientConfig.url');
    assert.match(plain.message ?? '', /'https' is the only allowed URL scheme/);
    const matchConditions = [{ name: 'c', expression: 'nonsense ==' }];
    const broken = await post(webhook({ url: 'https://example.com' }, { matchConditions }));
    assert.equal(broken.details?.causes?.[0]?.field, 'webhooks[0].matchConditions[0].expression');
  });
});
