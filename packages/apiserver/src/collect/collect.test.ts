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

function owned(name: string, owners: readonly UnknownObject[], more: object = {}) {
  const ownerReferences = owners.map(({ apiVersion, kind, metadata }) => ({
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid,
    ...more,
  }));
  return configMap(name, {}, { ownerReferences });
}

async function exists({ send }: TestServer, path: string): Promise<boolean> {
  return (await send('GET', path)).status === 200;
}

describe('garbage collection', () => {
  it('deletes what has lost its last owner, in the background', async () => {
    const test = testServer();
    const owner = await test.ok('POST', DEPLOYMENTS, deployment('one'));
    const other = await test.ok('POST', DEPLOYMENTS, deployment('two'));
    const child = await test.ok('POST', CONFIG_MAPS, owned('child', [owner]));
    await test.ok('POST', CONFIG_MAPS, owned('shared', [owner, other]));
    await test.ok('POST', CONFIG_MAPS, owned('grandchild', [child]));
    await test.ok('DELETE', `${DEPLOYMENTS}/one`, { propagationPolicy: 'Background' });
    await test.server.idle();
    assert.equal(await exists(test, `${CONFIG_MAPS}/child`), false);
    assert.equal(await exists(test, `${CONFIG_MAPS}/grandchild`), false);
    const shared = await test.ok('GET', `${CONFIG_MAPS}/shared`);
    assert.deepEqual(
      shared.metadata.ownerReferences?.map(({ uid }) => uid),
      [other.metadata.uid],
    );
  });

  it('ends a circle of owners that are deleted in the foreground', async () => {
    const test = testServer();
    const circle: UnknownObject[] = [];
    for (const name of ['a', 'b', 'c']) circle.push(await test.ok('POST', CONFIG_MAPS, configMap(name)));
    for (const [index, object] of circle.entries()) {
      const owner = circle[(index + 2) % 3] as UnknownObject;
      const { metadata } = owned('x', [owner], { blockOwnerDeletion: true });
      const patch = { metadata: { ownerReferences: (metadata as UnknownObject['metadata']).ownerReferences } };
      await test.ok('PATCH', `${CONFIG_MAPS}/${object.metadata.name}`, patch, MERGE);
    }
    await test.ok('DELETE', `${CONFIG_MAPS}/a`, { propagationPolicy: 'Foreground' });
    await test.server.idle();
    for (const name of ['a', 'b', 'c']) assert.equal(await exists(test, `${CONFIG_MAPS}/${name}`), false, name);
  });

  it('deletes what is created for an owner that is gone', async () => {
    const test = testServer();
    const owner = await test.ok('POST', DEPLOYMENTS, deployment('one'));
    await test.ok('DELETE', `${DEPLOYMENTS}/one`);
    await test.ok('POST', CONFIG_MAPS, owned('late', [owner]));
    await test.server.idle();
    assert.equal(await exists(test, `${CONFIG_MAPS}/late`), false);
  });

  it('keeps what names an owner that cannot be looked up', async () => {
    const test = testServer();
    const ghost = { apiVersion: 'none.example/v1', kind: 'Ghost', metadata: { name: 'g', uid: 'u' } };
    await test.ok('POST', CONFIG_MAPS, owned('kept', [ghost]));
    await test.server.idle();
    assert.equal(await exists(test, `${CONFIG_MAPS}/kept`), true);
    const owner = await test.ok('POST', DEPLOYMENTS, deployment('one'));
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'one', uid: owner.metadata.uid }];
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', ownerReferences } };
    await test.ok('POST', '/api/v1/nodes', node);
    await test.server.idle();
    assert.equal(await exists(test, '/api/v1/nodes/n'), true, 'an owner in a namespace cannot own it');
  });

  it('makes an owner wait in the foreground for the dependents that block it', async () => {
    const test = testServer();
    const owner = await test.ok('POST', DEPLOYMENTS, deployment('one'));
    const blocking = owned('blocking', [owner], { blockOwnerDeletion: true });
    await test.ok('POST', CONFIG_MAPS, {
      ...blocking,
      metadata: { ...blocking.metadata, finalizers: ['example.com/hold'] },
    });
    await test.ok('POST', CONFIG_MAPS, owned('free', [owner]));
    const marked = await test.ok('DELETE', `${DEPLOYMENTS}/one`, { propagationPolicy: 'Foreground' });
    assert.deepEqual(marked.metadata.finalizers, ['foregroundDeletion']);
    await test.server.idle();
    assert.equal(await exists(test, `${CONFIG_MAPS}/free`), false);
    assert.equal(await exists(test, `${DEPLOYMENTS}/one`), true, 'it waits');
    await test.ok('PATCH', `${CONFIG_MAPS}/blocking`, { metadata: { finalizers: null } }, MERGE);
    await test.server.idle();
    assert.equal(await exists(test, `${CONFIG_MAPS}/blocking`), false);
    assert.equal(await exists(test, `${DEPLOYMENTS}/one`), false);
  });

  it('orphans dependents when asked to', async () => {
    const test = testServer();
    const owner = await test.ok('POST', DEPLOYMENTS, deployment('one'));
    await test.ok('POST', CONFIG_MAPS, owned('child', [owner]));
    await test.ok('DELETE', `${DEPLOYMENTS}/one`, { propagationPolicy: 'Orphan' });
    await test.server.idle();
    assert.equal(await exists(test, `${DEPLOYMENTS}/one`), false);
    assert.equal((await test.ok('GET', `${CONFIG_MAPS}/child`)).metadata.ownerReferences, undefined);
  });
});

describe('namespaces', () => {
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

  it('are active, named by a label, and some stay forever', async () => {
    const test = testServer();
    const made = await test.ok('POST', '/api/v1/namespaces', namespace('a'));
    assert.deepEqual(made.metadata.labels, { 'kubernetes.io/metadata.name': 'a' });
    assert.deepEqual([made['spec'], made['status']], [{ finalizers: ['kubernetes'] }, { phase: 'Active' }]);
    const status = await test.refused('DELETE', '/api/v1/namespaces/default');
    assert.equal(status.message, 'namespaces "default" is forbidden: this namespace may not be deleted');
  });

  it('are emptied before they go, and take nothing new meanwhile', async () => {
    const test = testServer();
    await test.ok('POST', '/api/v1/namespaces', namespace('a'));
    const path = '/api/v1/namespaces/a/configmaps';
    await test.ok('POST', path, configMap('free'));
    await test.ok('POST', path, configMap('held', {}, { finalizers: ['example.com/hold'] }));
    const marked = await test.ok('DELETE', '/api/v1/namespaces/a');
    assert.deepEqual(marked['status'], { phase: 'Terminating' });
    await test.server.idle();
    assert.equal(await exists(test, `${path}/free`), false);
    const late = await test.refused('POST', path, configMap('late'));
    assert.equal(
      late.message,
      'configmaps "late" is forbidden: unable to create new content in namespace a because it is being terminated',
    );
    assert.equal(late.details?.causes?.[0]?.reason, 'NamespaceTerminating');
    await test.ok('PATCH', `${path}/held`, { metadata: { finalizers: null } }, MERGE);
    await test.server.idle();
    assert.equal(await exists(test, '/api/v1/namespaces/a'), false);
  });
});

describe('a namespace that is being deleted', () => {
  it('loses its pods first, and reports what it waits for', async () => {
    const test = testServer();
    await test.ok('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'going' } });
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', finalizers: ['example.com/held'] },
      spec: { containers: [{ name: 'main', image: 'a' }] },
    };
    await test.ok('POST', '/api/v1/namespaces/going/pods', pod);
    await test.ok('POST', '/api/v1/namespaces/going/configmaps', configMap('settings'));
    await test.ok('DELETE', '/api/v1/namespaces/going');
    await test.server.idle();
    assert.equal(await exists(test, '/api/v1/namespaces/going/configmaps/settings'), true);
    const namespace = await test.ok('GET', '/api/v1/namespaces/going');
    const { conditions } = namespace['status'] as { conditions: { type: string; status: string; message: string }[] };
    assert.deepEqual(
      conditions.filter(({ status }) => status === 'True').map(({ type, message }) => [type, message]),
      [
        ['NamespaceContentRemaining', 'Some resources are remaining: pods. has 1 resource instances'],
        [
          'NamespaceFinalizersRemaining',
          'Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances',
        ],
      ],
    );
    await test.ok('PATCH', '/api/v1/namespaces/going/pods/web', { metadata: { finalizers: null } }, MERGE);
    await test.server.idle();
    assert.equal(await exists(test, '/api/v1/namespaces/going'), false);
  });
});
