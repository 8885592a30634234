import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '@capstan/kube';
import { testServer } from '../server.test-support.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const POLICIES = '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies';
const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';

const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'a' }] },
});

describe('what counts as a change', () => {
  it('is an empty list of a NetworkPolicy each time it is written', async () => {
    const { ok } = testServer();
    const policy = { metadata: { name: 'a' }, spec: { podSelector: {} } };
    await ok('POST', POLICIES, policy);
    const generation = async (spec: object) => {
      const { metadata } = await ok('PUT', `${POLICIES}/a`, { ...policy, spec });
      return metadata.generation;
    };
    assert.equal(await generation({ podSelector: {} }), 1);
    assert.equal(await generation({ podSelector: {}, egress: [] }), 2);
    assert.equal(await generation({ podSelector: {}, egress: [] }), 3);
    assert.equal(await generation({ podSelector: {} }), 3);
  });

  it('is not a status with annotations of a Deployment', async () => {
    const { ok } = testServer();
    const deployments = '/apis/apps/v1/namespaces/default/deployments';
    const labels = { app: 'a' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'a' }] } };
    const made = await ok('POST', deployments, {
      metadata: { name: 'a' },
      spec: { selector: { matchLabels: labels }, template },
    });
    const metadata = { ...made.metadata, annotations: { note: 'x' } };
    const written = await ok('PUT', `${deployments}/a/status`, { ...made, metadata });
    assert.equal(written.metadata.generation, 1);
    assert.equal(written.metadata.annotations?.['note'], 'x');
  });
});

describe('a pod that goes', () => {
  it('is marked in one revision and gone in the next', async () => {
    const { ok } = testServer();
    const made = await ok('POST', `${NAMESPACE}/pods`, pod('a'));
    const gone = await ok('DELETE', `${NAMESPACE}/pods/a`);
    assert.equal(gone.metadata.deletionGracePeriodSeconds, 0);
    assert.equal(Number(gone.metadata.resourceVersion) - Number(made.metadata.resourceVersion), 2);
  });

  it('says that it was evicted while a finalizer keeps it', async () => {
    const { ok } = testServer();
    const held = pod('a');
    await ok('POST', `${NAMESPACE}/pods`, {
      ...held,
      metadata: { ...held.metadata, finalizers: ['example.com/hold'] },
    });
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a' } };
    await ok('POST', `${NAMESPACE}/pods/a/eviction`, { ...eviction, deleteOptions: { dryRun: ['All'] } });
    assert.equal(((await ok('GET', `${NAMESPACE}/pods/a`)) as Pod).status?.conditions, undefined);
    await ok('POST', `${NAMESPACE}/pods/a/eviction`, eviction);
    const { status, metadata } = (await ok('GET', `${NAMESPACE}/pods/a`)) as Pod;
    assert.deepEqual(
      status?.conditions?.map(({ type, reason }) => [type, reason]),
      [['DisruptionTarget', 'EvictionByEvictionAPI']],
    );
    assert.notEqual(metadata.deletionTimestamp, undefined);
  });
});

describe('a patch', () => {
  it('a patch of another time of deletion is owned by its writer and changes nothing else', async () => {
    const { ok } = testServer();
    const path = `${NAMESPACE}/configmaps`;
    await ok('POST', path, { metadata: { name: 'a', finalizers: ['example.com/hold'] } });
    const going = await ok('DELETE', `${path}/a`);
    const body = { metadata: { deletionTimestamp: '2001-01-01T00:00:00Z' } };
    const after = await ok('PATCH', `${path}/a`, body, { contentType: MERGE });
    assert.equal(after.metadata.deletionTimestamp, going.metadata.deletionTimestamp);
    const owned = after.metadata.managedFields?.map(({ fieldsV1 }) => JSON.stringify(fieldsV1)) ?? [];
    assert.ok(owned.some((text) => text.includes('f:deletionTimestamp')));
  });

  it('takes a list as it is where there is none yet, so that what is twice in it is refused', async () => {
    const { ok, refused } = testServer();
    await ok('POST', '/api/v1/nodes', { metadata: { name: 'n' } });
    const address = { type: 'InternalIP', address: '192.0.2.4' };
    const body = { status: { addresses: [address, address] } };
    const { code } = await refused('PATCH', '/api/v1/nodes/n/status', body, { contentType: STRATEGIC });
    assert.equal(code, 422);
  });
});
