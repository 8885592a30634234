import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CRDS, definition, testServer } from '../server.test-support.ts';

interface Named {
  name: string;
}

describe('discovery', () => {
  it('lists groups, versions and resources', async () => {
    const { ok, refused, send } = testServer();
    assert.deepEqual((await ok('GET', '/api'))['versions'], ['v1']);
    const groups = (await ok('GET', '/apis'))['groups'] as { name: string; preferredVersion: unknown }[];
    assert.deepEqual(groups.find(({ name }) => name === 'apps')?.preferredVersion, {
      groupVersion: 'apps/v1',
      version: 'v1',
    });
    assert.equal((await ok('GET', '/apis/apps')).kind, 'APIGroup');
    const list = await ok('GET', '/apis/apps/v1');
    assert.equal(list['groupVersion'], 'apps/v1');
    const resources = list['resources'] as Named[];
    assert.deepEqual(
      resources.find(({ name }) => name === 'deployments'),
      {
        name: 'deployments',
        singularName: 'deployment',
        namespaced: true,
        kind: 'Deployment',
        verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
        shortNames: ['deploy'],
        categories: ['all'],
      },
    );
    assert.deepEqual(
      resources.find(({ name }) => name === 'deployments/scale'),
      {
        name: 'deployments/scale',
        singularName: '',
        namespaced: true,
        group: 'autoscaling',
        version: 'v1',
        kind: 'Scale',
        verbs: ['get', 'patch', 'update'],
      },
    );
    assert.equal((await send('GET', '/apis/none.example')).status, 404);
    assert.equal((await refused('GET', '/apis/apps/v9')).code, 404);
  });

  it('returns everything at once when asked for the aggregated form', async () => {
    const { send } = testServer();
    const accept =
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';
    const answer = await send('GET', '/apis', undefined, { accept });
    assert.equal(
      answer.headers['content-type'],
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    );
    const { items } = answer.body as {
      items: { metadata: { name?: string }; versions: { resources: { resource: string }[] }[] }[];
    };
    const apps = items.find(({ metadata }) => metadata.name === 'apps');
    assert.ok(apps?.versions[0]?.resources.some(({ resource }) => resource === 'deployments'));
    assert.equal(
      items.some(({ metadata }) => metadata.name === undefined),
      false,
      'the core group is under /api',
    );
  });

  it('follows the definitions', async () => {
    const { ok, send, server } = testServer();
    assert.equal((await send('GET', '/apis/example.com/v1')).status, 404);
    await ok('POST', CRDS, definition());
    const names = ((await ok('GET', '/apis/example.com/v1'))['resources'] as Named[]).map(({ name }) => name);
    assert.deepEqual(names, ['widgets', 'widgets/scale', 'widgets/status']);
    await ok('DELETE', `${CRDS}/widgets.example.com`);
    await server.idle();
    assert.equal((await send('GET', '/apis/example.com/v1')).status, 404);
  });

  it('says its version and that it is well', async () => {
    const { ok, send } = testServer();
    assert.match((await ok('GET', '/version'))['gitVersion'] as string, /^v1\.\d+\.\d+/);
    for (const path of ['/healthz', '/livez', '/readyz']) assert.equal((await send('GET', path)).body, 'ok');
  });
});
