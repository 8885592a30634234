import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import {
  CONFIG_MAPS,
  configMap,
  DEPLOYMENTS,
  deployment,
  type TestServer,
  testServer,
} from '../server.test-support.ts';

const MERGE = { contentType: 'application/merge-patch+json' };
const APPLY = 'application/apply-patch+yaml';

function apply(test: TestServer, path: string, body: unknown, manager: string, force = false) {
  return test.ok('PATCH', path, body, { contentType: APPLY, query: { fieldManager: manager, force: String(force) } });
}

function applyRefused(test: TestServer, path: string, body: unknown, manager: string) {
  return test.refused('PATCH', path, body, { contentType: APPLY, query: { fieldManager: manager } });
}

function fieldsOf(object: UnknownObject, manager: string, operation = 'Apply', subresource?: string) {
  const entry = object.metadata.managedFields?.find(
    (one) => one.manager === manager && one.operation === operation && one.subresource === subresource,
  );
  return entry?.fieldsV1;
}

const minimal = (name: string, spec: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec,
});

describe('server-side apply', () => {
  it('creates what is absent and owns what it said', async () => {
    const test = testServer();
    const answer = await test.send('PATCH', `${CONFIG_MAPS}/a`, configMap('a', { x: '1' }, { labels: { l: 'v' } }), {
      contentType: APPLY,
      query: { fieldManager: 'one' },
    });
    assert.equal(answer.status, 201);
    assert.deepEqual((answer.body as UnknownObject).metadata.managedFields, [
      {
        manager: 'one',
        operation: 'Apply',
        apiVersion: 'v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:x': {} }, 'f:metadata': { 'f:labels': { 'f:l': {} } } },
      },
    ]);
  });

  it('takes nothing from a map by a null, and owns it', async () => {
    const test = testServer();
    await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { x: '1' }), 'one');
    const after = await apply(test, `${CONFIG_MAPS}/a`, { ...configMap('a'), data: null }, 'two', true);
    assert.deepEqual(after['data'], { x: '1' });
    assert.deepEqual(fieldsOf(after, 'two'), { 'f:data': {} });
  });

  it('notes the time of an apply that leaves out an empty field which Go always writes', async () => {
    const test = testServer();
    const path = '/api/v1/namespaces/default/events';
    const event = (more: object) => ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'a' },
      involvedObject: { kind: 'Pod', name: 'a', namespace: 'default' },
      ...more,
    });
    const timeOf = (object: UnknownObject) =>
      object.metadata.managedFields?.find(({ operation }) => operation === 'Apply')?.time;
    await test.ok('POST', path, event({ source: {} }));
    // Nothing changes, and Kubernetes notes the time of changes only.
    assert.equal(timeOf(await apply(test, `${path}/a`, event({ source: {} }), 'two')), undefined);
    assert.notEqual(timeOf(await apply(test, `${path}/a`, event({}), 'two')), undefined);
  });

  it('keeps the time of an applier who goes on with the other face of an event', async () => {
    const test = testServer();
    const common = { kind: 'Event', metadata: { name: 'a' }, type: 'Normal', reason: 'R', action: 'A' };
    const pod = { kind: 'Pod', name: 'a', namespace: 'default' };
    const fresh = {
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.com/c',
      reportingInstance: 'i',
    };
    const created = { ...common, apiVersion: 'events.k8s.io/v1', regarding: pod, ...fresh };
    const made = await apply(test, '/apis/events.k8s.io/v1/namespaces/default/events/a', created, 'one');
    const core = { ...common, apiVersion: 'v1', involvedObject: pod };
    const after = await apply(test, '/api/v1/namespaces/default/events/a', core, 'one', true);
    const times = [made, after].map(({ metadata }) => metadata.managedFields?.map(({ time }) => time));
    assert.deepEqual(times, [['2026-01-01T00:00:00Z'], ['2026-01-01T00:00:00Z']]);
  });

  it('needs a field manager, and takes no managedFields', async () => {
    const test = testServer();
    const unnamed = await test.refused('PATCH', `${CONFIG_MAPS}/a`, configMap('a'), { contentType: APPLY });
    assert.equal(
      unnamed.message,
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    );
    const given = await applyRefused(test, `${CONFIG_MAPS}/a`, configMap('a', {}, { managedFields: [] }), 'one');
    assert.equal(given.message, 'metadata.managedFields must be nil');
    const unknown = await applyRefused(test, `${DEPLOYMENTS}/a`, minimal('a', { foo: 1 }), 'one');
    assert.equal(
      unknown.message,
      'failed to create typed patch object (/a; apps/v1, Kind=Deployment): .spec.foo: field not declared in schema',
    );
  });

  it('changes nothing, not even a time, when it says the same again', async () => {
    const test = testServer();
    const first = await apply(test, `${DEPLOYMENTS}/web`, deployment('web'), 'one');
    const revision = test.server.revision;
    await test.clock.advance(60_000);
    const again = await apply(test, `${DEPLOYMENTS}/web`, deployment('web'), 'one');
    assert.equal(test.server.revision, revision);
    assert.deepEqual(again, first);
  });

  it('conflicts with who set another value, in the words of Kubernetes', async () => {
    const test = testServer();
    await test.ok('POST', DEPLOYMENTS, deployment('web'), { query: { fieldManager: 'creator' } });
    const one = await applyRefused(test, `${DEPLOYMENTS}/web`, minimal('web', { replicas: 5 }), 'one');
    assert.equal(one.message, 'Apply failed with 1 conflict: conflict with "creator" using apps/v1: .spec.replicas');
    assert.equal(one.code, 409);
    assert.deepEqual(one.details?.causes, [
      { reason: 'FieldManagerConflict', message: 'conflict with "creator" using apps/v1', field: '.spec.replicas' },
    ]);
    const containers = { template: { spec: { containers: [{ name: 'main', image: 'b' }] } } };
    const two = await applyRefused(test, `${DEPLOYMENTS}/web`, minimal('web', { replicas: 5, ...containers }), 'one');
    assert.equal(
      two.message,
      'Apply failed with 2 conflicts: conflicts with "creator" using apps/v1:\n- .spec.replicas\n- .spec.template.spec.containers[name="main"].image',
    );
  });

  it('takes fields over by force, and shares fields that are equal', async () => {
    const test = testServer();
    await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { x: '1', y: '1' }), 'one');
    const shared = await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { x: '1' }), 'two');
    assert.deepEqual(fieldsOf(shared, 'one'), { 'f:data': { 'f:x': {}, 'f:y': {} } });
    assert.deepEqual(fieldsOf(shared, 'two'), { 'f:data': { 'f:x': {} } });
    const conflict = await applyRefused(test, `${CONFIG_MAPS}/a`, configMap('a', { x: '2' }), 'two');
    assert.equal(conflict.message, 'Apply failed with 1 conflict: conflict with "one": .data.x');
    const forced = await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { x: '2' }), 'two', true);
    assert.deepEqual(forced['data'], { x: '2', y: '1' });
    assert.deepEqual(fieldsOf(forced, 'one'), { 'f:data': { 'f:y': {} } });
  });

  it('removes what it does not say any more, unless another client owns it too', async () => {
    const test = testServer();
    await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { mine: '1', ours: '1' }), 'one');
    await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { ours: '1' }), 'two');
    await test.ok('PATCH', `${CONFIG_MAPS}/a`, { data: { theirs: '1' } }, MERGE);
    const left = await apply(test, `${CONFIG_MAPS}/a`, configMap('a', {}), 'one');
    assert.deepEqual(left['data'], { ours: '1', theirs: '1' });
    const gone = await apply(
      test,
      `${CONFIG_MAPS}/a`,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
      'two',
    );
    assert.deepEqual(gone['data'], { theirs: '1' });
  });

  it('adds, keeps and removes items of a list by their keys', async () => {
    const test = testServer();
    const containers = (...items: object[]) => minimal('web', { template: { spec: { containers: items } } });
    const whole = (...items: object[]) =>
      deployment('web', { template: { metadata: { labels: { app: 'web' } }, spec: { containers: items } } });
    await apply(test, `${DEPLOYMENTS}/web`, whole({ name: 'a', image: '1' }, { name: 'b', image: '1' }), 'one');
    const both = await apply(test, `${DEPLOYMENTS}/web`, containers({ name: 'sidecar', image: 's' }), 'two');
    const names = (object: UnknownObject) =>
      (
        object['spec'] as { template: { spec: { containers: { name: string; image: string }[] } } }
      ).template.spec.containers.map(({ name, image }) => `${name}:${image}`);
    assert.deepEqual(names(both), ['a:1', 'b:1', 'sidecar:s']);
    assert.deepEqual(fieldsOf(both, 'two'), {
      'f:spec': {
        'f:template': {
          'f:spec': { 'f:containers': { 'k:{"name":"sidecar"}': { '.': {}, 'f:image': {}, 'f:name': {} } } },
        },
      },
    });
    const fewer = await apply(test, `${DEPLOYMENTS}/web`, whole({ name: 'b', image: '2' }), 'one');
    assert.deepEqual(names(fewer), ['b:2', 'sidecar:s']);
  });

  it('keys ports by number and protocol, the protocol by default TCP', async () => {
    const test = testServer();
    const path = '/api/v1/namespaces/default/services/web';
    const service = (...ports: object[]) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { ports },
    });
    await apply(test, path, service({ port: 80, name: 'http' }), 'one');
    const both = await apply(test, path, service({ port: 80, protocol: 'UDP', name: 'quic' }), 'two');
    assert.deepEqual(Object.keys((fieldsOf(both, 'one') as { 'f:spec': { 'f:ports': object } })['f:spec']['f:ports']), [
      'k:{"port":80,"protocol":"TCP"}',
    ]);
    assert.equal((both['spec'] as { ports: object[] }).ports.length, 2);
  });

  it('records other writers by what they changed, with the maps that they made', async () => {
    const test = testServer();
    const made = await test.ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }), { query: { fieldManager: 'creator' } });
    assert.deepEqual(fieldsOf(made, 'creator', 'Update'), { 'f:data': { '.': {}, 'f:x': {} } });
    const patched = await test.ok(
      'PATCH',
      `${CONFIG_MAPS}/a`,
      { data: { y: '1', x: '2' } },
      { ...MERGE, query: { fieldManager: 'p' } },
    );
    assert.deepEqual(fieldsOf(patched, 'creator', 'Update'), { 'f:data': {} });
    assert.deepEqual(fieldsOf(patched, 'p', 'Update'), { 'f:data': { 'f:x': {}, 'f:y': {} } });
    const agent = await test.ok('PATCH', `${CONFIG_MAPS}/a`, { data: { z: '1' } }, MERGE);
    assert.deepEqual(
      fieldsOf(agent, 'test', 'Update'),
      { 'f:data': { 'f:z': {} } },
      'the user agent names who does not',
    );
  });

  it('records what the server filled in as made by the creator, structs that are always there not', async () => {
    const test = testServer();
    const made = await test.ok('POST', DEPLOYMENTS, deployment('web'), { query: { fieldManager: 'creator' } });
    assert.deepEqual(fieldsOf(made, 'creator', 'Update'), {
      'f:spec': {
        'f:progressDeadlineSeconds': {},
        'f:replicas': {},
        'f:revisionHistoryLimit': {},
        'f:selector': {},
        'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {} }, 'f:type': {} },
        'f:template': {
          'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
          'f:spec': {
            'f:containers': {
              'k:{"name":"main"}': {
                '.': {},
                'f:image': {},
                'f:imagePullPolicy': {},
                'f:name': {},
                'f:resources': {},
                'f:terminationMessagePath': {},
                'f:terminationMessagePolicy': {},
              },
            },
            'f:dnsPolicy': {},
            'f:restartPolicy': {},
            'f:schedulerName': {},
            'f:securityContext': {},
            'f:terminationGracePeriodSeconds': {},
          },
        },
      },
    });
  });

  it('keeps the status of a controller in an entry of its own', async () => {
    const test = testServer();
    await apply(test, `${DEPLOYMENTS}/web`, deployment('web'), 'one');
    const status = { ...minimal('web', { replicas: 9 }), status: { replicas: 1 } };
    const after = await apply(test, `${DEPLOYMENTS}/web/status`, status, 'one');
    assert.deepEqual(fieldsOf(after, 'one', 'Apply', 'status'), { 'f:status': { 'f:replicas': {} } });
    assert.equal((after['spec'] as { replicas: number }).replicas, 1);
    const updated = await test.ok(
      'PATCH',
      `${DEPLOYMENTS}/web/status`,
      { status: { replicas: 2 } },
      { ...MERGE, query: { fieldManager: 'two' } },
    );
    assert.deepEqual(fieldsOf(updated, 'two', 'Update', 'status'), { 'f:status': { 'f:replicas': {} } });
    assert.equal(fieldsOf(updated, 'one', 'Apply', 'status'), undefined);
    const conflict = await applyRefused(test, `${DEPLOYMENTS}/web/status`, status, 'one');
    assert.match(
      conflict.message ?? '',
      /conflict with "two" with subresource "status" using apps\/v1: \.status\.replicas/,
    );
  });

  it('gives what was there before the first apply to a manager of that name', async () => {
    const test = testServer();
    await test.ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }));
    await test.ok('PATCH', `${CONFIG_MAPS}/a`, { metadata: { managedFields: [{}] } }, MERGE);
    assert.equal((await test.ok('GET', `${CONFIG_MAPS}/a`)).metadata.managedFields, undefined);
    const after = await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { y: '1' }), 'one');
    assert.deepEqual(fieldsOf(after, 'before-first-apply', 'Update'), { 'f:data': { '.': {}, 'f:x': {} } });
  });

  it('refuses a stale resourceVersion and writes nothing in a dry run', async () => {
    const test = testServer();
    await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { x: '1' }), 'one');
    const stale = await applyRefused(
      test,
      `${CONFIG_MAPS}/a`,
      configMap('a', { x: '2' }, { resourceVersion: '1' }),
      'one',
    );
    assert.equal(stale.reason, 'Conflict');
    const revision = test.server.revision;
    const dry = await test.ok('PATCH', `${CONFIG_MAPS}/a`, configMap('a', { x: '2' }), {
      contentType: APPLY,
      query: { fieldManager: 'one', dryRun: 'All' },
    });
    assert.deepEqual(dry['data'], { x: '2' });
    assert.equal(test.server.revision, revision);
  });

  it('keeps at most ten entries of other writers', async () => {
    const test = testServer();
    await test.ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }));
    for (let index = 0; index < 15; index += 1) {
      await test.clock.advance(1000);
      await test.ok(
        'PATCH',
        `${CONFIG_MAPS}/a`,
        { data: { [`k${index}`]: '1' } },
        { ...MERGE, query: { fieldManager: `m${index}` } },
      );
    }
    const entries = (await test.ok('GET', `${CONFIG_MAPS}/a`)).metadata.managedFields ?? [];
    assert.equal(entries.length, 10);
    assert.equal(entries[0]?.manager, 'ancient-changes');
  });

  it('keeps what client-side apply remembers up to date, for kubectl alone', async () => {
    const test = testServer();
    const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
    const remembered = (object: UnknownObject) => object.metadata.annotations?.[annotation];
    await test.ok('POST', CONFIG_MAPS, configMap('a', { x: '1' }, { annotations: { [annotation]: '{}\n' } }));
    assert.equal(remembered(await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { y: '1' }), 'other')), '{}\n');
    const after = remembered(await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { z: '1' }), 'kubectl'));
    const { data, metadata } = JSON.parse(after ?? '') as { data: unknown; metadata: object };
    assert.deepEqual([data, metadata], [{ z: '1' }, { name: 'a', namespace: 'default', annotations: {} }]);
    await test.ok('POST', CONFIG_MAPS, configMap('b'));
    assert.equal(remembered(await apply(test, `${CONFIG_MAPS}/b`, configMap('b', { z: '1' }), 'kubectl')), undefined);
  });

  it('lets kubectl take over what its client-side apply applied, unless another client has changed it since', async () => {
    const test = testServer();
    const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
    const text = JSON.stringify({ data: { x: '1', y: '1' } });
    const made = configMap('a', { x: '1', y: '1' }, { annotations: { [annotation]: text } });
    await test.ok('POST', CONFIG_MAPS, made, { query: { fieldManager: 'kubectl-client-side-apply' } });
    await test.ok('PATCH', `${CONFIG_MAPS}/a`, { data: { y: '2' } }, { ...MERGE, query: { fieldManager: 'ann' } });
    const changed = configMap('a', { x: '3', y: '3' });
    const conflict = await applyRefused(test, `${CONFIG_MAPS}/a`, changed, 'kubectl');
    assert.equal(conflict.message, 'Apply failed with 1 conflict: conflict with "ann" using v1: .data.y');
    const after = await apply(test, `${CONFIG_MAPS}/a`, configMap('a', { x: '3' }), 'kubectl');
    assert.deepEqual(after['data'], { x: '3', y: '2' });
    const other = await applyRefused(test, `${CONFIG_MAPS}/a`, configMap('a', { x: '4' }), 'other');
    assert.match(other.message ?? '', /conflict with "kubectl": \.data\.x/);
  });
});
