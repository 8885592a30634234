import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import { CONFIG_MAPS, configMap, DEPLOYMENTS, deployment, testServer } from '../server.test-support.ts';

const MERGE = { contentType: 'application/merge-patch+json' };
const JSON_PATCH = { contentType: 'application/json-patch+json' };

describe('create', () => {
  it('fills in what the server decides', async () => {
    const { ok, server } = testServer();
    const made = await ok('POST', DEPLOYMENTS, deployment('web'));
    assert.match(made.metadata.uid ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(made.metadata.creationTimestamp, '2026-01-01T00:00:00Z');
    assert.equal(made.metadata.generation, 1);
    assert.equal(made.metadata.namespace, 'default');
    assert.equal(made.metadata.resourceVersion, String(server.revision));
    assert.equal((await testServer().ok('POST', CONFIG_MAPS, configMap('a'))).metadata.generation, undefined);
  });

  it('draws a name of five characters without vowels after generateName', async () => {
    const { ok } = testServer();
    const made = await ok('POST', CONFIG_MAPS, { ...configMap(''), metadata: { generateName: 'job-' } });
    assert.match(made.metadata.name ?? '', /^job-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  it('refuses a name that is taken, in the words of Kubernetes', async () => {
    const { ok, refused } = testServer();
    await ok('POST', DEPLOYMENTS, deployment('web'));
    const status = await refused('POST', DEPLOYMENTS, deployment('web'));
    assert.deepEqual(status, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'deployments.apps "web" already exists',
      reason: 'AlreadyExists',
      details: { name: 'web', group: 'apps', kind: 'deployments' },
      code: 409,
    });
  });

  it('refuses illegal names and labels, each with its cause', async () => {
    const { refused } = testServer();
    const status = await refused('POST', CONFIG_MAPS, configMap('Bad_Name', {}, { labels: { 'a b': 'c d' } }));
    assert.equal(status.code, 422);
    assert.equal(status.reason, 'Invalid');
    assert.match(
      status.message ?? '',
      /^ConfigMap "Bad_Name" is invalid: \[metadata\.name: Invalid value: "Bad_Name": /,
    );
    assert.deepEqual(
      status.details?.causes?.map(({ field, reason }) => [field, reason]),
      [
        ['metadata.name', 'FieldValueInvalid'],
        ['metadata.labels', 'FieldValueInvalid'],
        ['metadata.labels', 'FieldValueInvalid'],
      ],
    );
    const nameless = await refused('POST', CONFIG_MAPS, { ...configMap(''), metadata: {} });
    assert.match(nameless.message ?? '', /metadata\.name: Required value: name or generateName is required/);
  });

  it('needs the namespace to be there, unless that is switched off', async () => {
    const path = '/api/v1/namespaces/nowhere/configmaps';
    const status = await testServer().refused('POST', path, configMap('a'));
    assert.equal(status.message, 'namespaces "nowhere" not found');
    await testServer({ checkNamespaces: false }).ok('POST', path, configMap('a'));
  });

  it('refuses bodies of another kind, version or namespace', async () => {
    const { refused, send } = testServer();
    const other = await refused('POST', CONFIG_MAPS, configMap('a', {}, { namespace: 'kube-system' }));
    assert.equal(
      other.message,
      'the namespace of the provided object does not match the namespace sent on the request',
    );
    const version = await refused('POST', DEPLOYMENTS, { ...deployment('a'), apiVersion: 'apps/v1beta1' });
    assert.match(version.message ?? '', /the API version in the data \(apps\/v1beta1\) does not match/);
    assert.equal((await refused('POST', CONFIG_MAPS, 'text')).code, 400);
    const nowhere = await send('POST', '/apis/none.example/v1/things', {});
    assert.deepEqual([nowhere.status, nowhere.body], [404, '404 page not found\n']);
  });

  it('stores a copy: the sender may go on with what he sent', async () => {
    const { ok } = testServer();
    const body = configMap('a', { key: 'one' });
    await ok('POST', CONFIG_MAPS, body);
    body.data['key'] = 'two';
    assert.deepEqual((await ok('GET', `${CONFIG_MAPS}/a`))['data'], { key: 'one' });
  });

  it('drops unknown fields with a warning, and refuses them when strict', async () => {
    const { send, refused } = testServer();
    const body = { ...deployment('web'), spec: { ...deployment('web').spec, foo: 1 } };
    const answer = await send('POST', DEPLOYMENTS, body);
    assert.equal(answer.headers['warning'], '299 - "unknown field \\"spec.foo\\""');
    assert.ok(!('foo' in ((answer.body as UnknownObject)['spec'] as object)));
    const strict = await refused('POST', DEPLOYMENTS, body, { query: { fieldValidation: 'Strict' } });
    assert.equal(
      strict.message,
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.foo"',
    );
  });

  it('leaves nothing behind in a dry run', async () => {
    const { ok, refused, server } = testServer();
    const before = server.revision;
    const made = await ok('POST', CONFIG_MAPS, configMap('a'), { query: { dryRun: 'All' } });
    assert.ok(made.metadata.uid);
    assert.equal(server.revision, before);
    assert.equal((await refused('GET', `${CONFIG_MAPS}/a`)).message, 'configmaps "a" not found');
    const wrong = await refused('POST', CONFIG_MAPS, configMap('a'), { query: { dryRun: 'Some' } });
    assert.match(
      wrong.message ?? '',
      /CreateOptions\.meta\.k8s\.io "" is invalid: dryRun: Unsupported value: \["Some"\]/,
    );
  });
});

describe('update', () => {
  it('is refused when the object has moved on', async () => {
    const { ok, refused } = testServer();
    const first = await ok('POST', DEPLOYMENTS, deployment('web'));
    await ok('PUT', `${DEPLOYMENTS}/web`, { ...first, spec: { ...deployment('web').spec, replicas: 2 } });
    const status = await refused('PUT', `${DEPLOYMENTS}/web`, { ...first, spec: deployment('web').spec });
    assert.equal(
      status.message,
      'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again',
    );
    assert.equal(status.reason, 'Conflict');
  });

  it('counts a generation for the desired state only, and nothing at all for no change', async () => {
    const { ok, server } = testServer();
    const first = await ok('POST', DEPLOYMENTS, deployment('web'));
    const before = server.revision;
    assert.equal(
      (await ok('PUT', `${DEPLOYMENTS}/web`, first)).metadata.resourceVersion,
      first.metadata.resourceVersion,
    );
    assert.equal(server.revision, before, 'a write of the same is no write');
    const labelled = await ok('PATCH', `${DEPLOYMENTS}/web`, { metadata: { labels: { a: 'b' } } }, MERGE);
    assert.equal(labelled.metadata.generation, 1);
    const scaled = await ok('PATCH', `${DEPLOYMENTS}/web`, { spec: { replicas: 3 } }, MERGE);
    assert.equal(scaled.metadata.generation, 2);
  });

  it('keeps status and spec apart', async () => {
    const { ok } = testServer();
    const first = await ok('POST', DEPLOYMENTS, { ...deployment('web'), status: { replicas: 9 } });
    assert.deepEqual(first['status'], {});
    const status = await ok('PUT', `${DEPLOYMENTS}/web/status`, {
      ...first,
      spec: { ...deployment('web').spec, replicas: 7 },
      status: { replicas: 1 },
    });
    assert.deepEqual(status['status'], { replicas: 1 });
    assert.equal((status['spec'] as { replicas: number }).replicas, 1);
    assert.equal(status.metadata.generation, 1);
    const spec = await ok('PATCH', `${DEPLOYMENTS}/web`, { spec: { replicas: 2 }, status: { replicas: 5 } }, MERGE);
    assert.deepEqual(spec['status'], { replicas: 1 });
  });

  it('keeps the status of a node that registers', async () => {
    const { ok } = testServer();
    const status = { conditions: [{ type: 'Ready', status: 'True' }], capacity: { cpu: '4' } };
    const node = await ok('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status });
    const [condition] = (node['status'] as typeof status).conditions;
    assert.deepEqual([condition?.type, condition?.status], ['Ready', 'True']);
    assert.deepEqual((node['status'] as { allocatable: object }).allocatable, { cpu: '4' });
  });

  it('does not let clients change identity', async () => {
    const { ok, refused } = testServer();
    const first = await ok('POST', CONFIG_MAPS, configMap('a'));
    const uid = await refused('PUT', `${CONFIG_MAPS}/a`, configMap('a', {}, { uid: 'other' }));
    assert.match(uid.message ?? '', /Precondition failed: UID in precondition: other, UID in object meta: /);
    const name = await refused('PUT', `${CONFIG_MAPS}/a`, configMap('b'));
    assert.equal(name.message, 'the name of the object (b) does not match the name on the URL (a)');
    const going = { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z', deletionGracePeriodSeconds: 4 } };
    assert.deepEqual(
      (await refused('PATCH', `${CONFIG_MAPS}/a`, going, MERGE)).details?.causes?.map(({ field }) => field),
      ['metadata.deletionTimestamp', 'metadata.deletionGracePeriodSeconds'],
    );
    assert.equal((await refused('PUT', `${CONFIG_MAPS}/none`, configMap('none'))).reason, 'NotFound');
    assert.equal((await ok('GET', `${CONFIG_MAPS}/a`)).metadata.uid, first.metadata.uid);
  });

  for (const [how, method, more] of [
    ['PUT', 'PUT', {}],
    ['a merge patch', 'PATCH', MERGE],
    ['a strategic patch', 'PATCH', { contentType: 'application/strategic-merge-patch+json' }],
    [
      'an apply',
      'PATCH',
      { contentType: 'application/apply-patch+yaml', query: { fieldManager: 'me', force: 'true' } },
    ],
  ] as const) {
    it(`ignores the creationTimestamp and the generation of an exported manifest in ${how}`, async () => {
      const { ok } = testServer();
      const { metadata } = await ok('POST', DEPLOYMENTS, deployment('web'));
      const exported = { creationTimestamp: '2020-01-01T00:00:00Z', generation: 9 };
      const { metadata: after } = await ok(method, `${DEPLOYMENTS}/web`, deployment('web', {}, exported), more);
      assert.deepEqual([after.creationTimestamp, after.generation], [metadata.creationTimestamp, 1]);
    });
  }

  it('creates by PUT where Kubernetes does', async () => {
    const { send } = testServer();
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'a' }, spec: {} };
    const answer = await send('PUT', '/apis/coordination.k8s.io/v1/namespaces/default/leases/a', lease);
    assert.equal(answer.status, 201);
  });
});

describe('patch', () => {
  it('applies JSON patches whole or not at all', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }));
    const patched = await ok('PATCH', `${CONFIG_MAPS}/a`, [{ op: 'add', path: '/data/y', value: '2' }], JSON_PATCH);
    assert.deepEqual(patched['data'], { x: '1', y: '2' });
    const status = await refused(
      'PATCH',
      `${CONFIG_MAPS}/a`,
      [
        { op: 'remove', path: '/data/x' },
        { op: 'test', path: '/data/y', value: '3' },
      ],
      JSON_PATCH,
    );
    assert.equal(status.code, 422);
    assert.deepEqual((await ok('GET', `${CONFIG_MAPS}/a`))['data'], { x: '1', y: '2' });
  });

  it('honours a resourceVersion in the patch, and refuses media types that it does not know', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    const stale = await refused(
      'PATCH',
      `${CONFIG_MAPS}/a`,
      { metadata: { resourceVersion: '1' }, data: { a: 'b' } },
      MERGE,
    );
    assert.equal(stale.reason, 'Conflict');
    assert.equal((await refused('PATCH', `${CONFIG_MAPS}/a`, {}, { contentType: 'text/plain' })).code, 415);
    assert.equal((await refused('PATCH', `${CONFIG_MAPS}/none`, {}, MERGE)).reason, 'NotFound');
  });
});

describe('scale', () => {
  it('reads and writes the replicas of a workload', async () => {
    const { ok, refused } = testServer();
    await ok('POST', DEPLOYMENTS, deployment('web'));
    const scale = await ok('GET', `${DEPLOYMENTS}/web/scale`);
    assert.deepEqual(scale['spec'], { replicas: 1 });
    assert.deepEqual(scale['status'], { replicas: 0, selector: 'app=web' });
    await ok('PATCH', `${DEPLOYMENTS}/web/scale`, { spec: { replicas: 4 } }, MERGE);
    const after = await ok('GET', `${DEPLOYMENTS}/web`);
    assert.equal((after['spec'] as { replicas: number }).replicas, 4);
    assert.equal(after.metadata.generation, 2);
    assert.equal((await refused('PATCH', `${DEPLOYMENTS}/web/scale`, { spec: { replicas: -1 } }, MERGE)).code, 422);
    assert.equal((await refused('GET', `${CONFIG_MAPS}/web/scale`)).code, 404);
  });
});

describe('across namespaces', () => {
  it('only reads are served', async () => {
    const { ok, refused } = testServer();
    await ok('POST', CONFIG_MAPS, configMap('a'));
    for (const method of ['DELETE', 'POST', 'PUT', 'PATCH'] as const) {
      assert.equal((await refused(method, '/api/v1/configmaps', configMap('a'))).code, 405, method);
    }
    assert.equal(((await ok('GET', '/api/v1/configmaps'))['items'] as unknown[]).length, 1);
  });
});

describe('delete', () => {
  it('removes, and says what', async () => {
    const { ok, refused } = testServer();
    const made = await ok('POST', DEPLOYMENTS, deployment('web'));
    const status = await ok('DELETE', `${DEPLOYMENTS}/web`);
    assert.deepEqual(status['details'], { name: 'web', group: 'apps', kind: 'deployments', uid: made.metadata.uid });
    assert.equal((await refused('DELETE', `${DEPLOYMENTS}/web`)).message, 'deployments.apps "web" not found');
  });

  it('waits for finalizers, takes no new ones, and ends with the last', async () => {
    const { ok, refused, clock } = testServer();
    await ok('POST', DEPLOYMENTS, deployment('web', {}, { finalizers: ['example.com/a'] }));
    await clock.advance(5000);
    const marked = await ok('DELETE', `${DEPLOYMENTS}/web`);
    assert.equal(marked.metadata.deletionTimestamp, '2026-01-01T00:00:05Z');
    assert.equal(marked.metadata.deletionGracePeriodSeconds, 0);
    assert.equal(marked.metadata.generation, 2);
    const again = await ok('DELETE', `${DEPLOYMENTS}/web`);
    assert.equal(again.metadata.resourceVersion, marked.metadata.resourceVersion);
    const more = { metadata: { finalizers: ['example.com/a', 'example.com/b'] } };
    assert.match(
      (await refused('PATCH', `${DEPLOYMENTS}/web`, more, MERGE)).message ?? '',
      /no new finalizers can be added/,
    );
    const kept = await ok('PATCH', `${DEPLOYMENTS}/web`, { metadata: { deletionTimestamp: null } }, MERGE);
    assert.equal(kept.metadata.deletionTimestamp, marked.metadata.deletionTimestamp);
    await ok('PATCH', `${DEPLOYMENTS}/web`, { metadata: { finalizers: null } }, MERGE);
    assert.equal((await refused('GET', `${DEPLOYMENTS}/web`)).code, 404);
  });

  it('checks preconditions', async () => {
    const { ok, refused } = testServer();
    const made = await ok('POST', CONFIG_MAPS, configMap('a'));
    const uid = await refused('DELETE', `${CONFIG_MAPS}/a`, { preconditions: { uid: 'x' } });
    assert.equal(
      uid.message,
      `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in record (${made.metadata.uid}). The object might have been deleted and then recreated`,
    );
    const version = await refused('DELETE', `${CONFIG_MAPS}/a`, { preconditions: { resourceVersion: '1' } });
    assert.match(
      version.message ?? '',
      /the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record \(\d+\)/,
    );
    await ok('DELETE', `${CONFIG_MAPS}/a`, { preconditions: { uid: made.metadata.uid } });
  });

  it('a delete of a collection takes the objects that the selector chooses', async () => {
    const { ok } = testServer();
    for (const name of ['a', 'b', 'c']) {
      await ok('POST', CONFIG_MAPS, configMap(name, {}, { labels: { keep: String(name === 'b') } }));
    }
    await ok('DELETE', CONFIG_MAPS, undefined, { query: { labelSelector: 'keep=false' } });
    const left = (await ok('GET', CONFIG_MAPS))['items'] as UnknownObject[];
    assert.deepEqual(
      left.map((one) => one.metadata.name),
      ['b'],
    );
  });

  it('a delete of a collection with a limit takes the first objects, and names where to go on', async () => {
    const { ok } = testServer();
    for (const name of ['a', 'b', 'c', 'd']) await ok('POST', CONFIG_MAPS, configMap(name));
    const left = async () => {
      const { items } = (await ok('GET', CONFIG_MAPS)) as unknown as { items: UnknownObject[] };
      return items.map(({ metadata }) => metadata.name);
    };
    const first = await ok('DELETE', CONFIG_MAPS, undefined, { query: { limit: '2' } });
    assert.deepEqual(await left(), ['c', 'd']);
    const { continue: token = '' } = first.metadata as { continue?: string };
    const second = await ok('DELETE', CONFIG_MAPS, undefined, { query: { limit: '1', continue: token } });
    assert.deepEqual(await left(), ['d']);
    assert.ok('continue' in second.metadata);
  });

  it('takes preconditions in the query too', async () => {
    const { ok, refused } = testServer();
    const { metadata } = await ok('POST', CONFIG_MAPS, configMap('a'));
    const wrong: Readonly<Record<string, string>>[] = [{ uid: 'x' }, { resourceVersion: '0' }];
    for (const query of wrong) {
      for (const path of [CONFIG_MAPS, `${CONFIG_MAPS}/a`]) {
        assert.equal((await refused('DELETE', path, undefined, { query })).code, 409);
      }
    }
    const { uid = '', resourceVersion = '' } = metadata;
    await ok('DELETE', `${CONFIG_MAPS}/a`, undefined, { query: { uid, resourceVersion } });
  });

  it('gives pods on a node their grace', async () => {
    const { ok, refused } = testServer();
    const pods = '/api/v1/namespaces/default/pods';
    const pod = (name: string, spec: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
    const containers = [{ name: 'main', image: 'a' }];
    await ok('POST', pods, pod('waiting', { containers }));
    await ok('POST', pods, pod('running', { containers, nodeName: 'node' }));
    await ok('DELETE', `${pods}/waiting`);
    assert.equal((await refused('GET', `${pods}/waiting`)).code, 404);
    const marked = await ok('DELETE', `${pods}/running`);
    assert.equal(marked.metadata.deletionTimestamp, '2026-01-01T00:00:30Z');
    assert.equal(marked.metadata.deletionGracePeriodSeconds, 30);
    await ok('DELETE', `${pods}/running`, { gracePeriodSeconds: 0 });
    assert.equal((await refused('GET', `${pods}/running`)).code, 404);
  });
});
