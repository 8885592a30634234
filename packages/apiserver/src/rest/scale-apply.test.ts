import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import { DEPLOYMENTS, deployment, testServer } from '../server.test-support.ts';

const SCALE = `${DEPLOYMENTS}/web/scale`;
const REPLICAS = { 'f:spec': { 'f:replicas': {} } };

const scaleOf = (replicas?: number) => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'web' },
  ...(replicas !== undefined && { spec: { replicas } }),
});

/** The managers of the replica count. */
const managersOf = ({ metadata }: UnknownObject) =>
  (metadata.managedFields ?? [])
    .filter(({ fieldsV1 }) => (fieldsV1 as typeof REPLICAS)['f:spec']?.['f:replicas'] !== undefined)
    .map(({ manager, operation, subresource = '', apiVersion }) =>
      [manager, operation, subresource, apiVersion].join(' '),
    );

async function given() {
  const test = testServer();
  await test.ok('POST', DEPLOYMENTS, deployment('web', { replicas: 3 }));
  const asked = (fieldManager: string, force = false) => ({
    contentType: 'application/apply-patch+yaml',
    query: { fieldManager, ...(force && { force: 'true' }) },
  });
  return { ...test, asked, managers: async () => managersOf(await test.ok('GET', `${DEPLOYMENTS}/web`)) };
}

describe('apply to a scale', () => {
  it('conflicts with the manager of the replica count, and takes it over by force', async () => {
    const { ok, refused, asked, managers } = await given();
    const { message } = await refused('PATCH', SCALE, scaleOf(5), asked('autoscaler'));
    assert.equal(message, 'Apply failed with 1 conflict: conflict with "test" using autoscaling/v1: .spec.replicas');
    assert.deepEqual((await ok('PATCH', SCALE, scaleOf(5), asked('autoscaler', true)))['spec'], { replicas: 5 });
    assert.deepEqual(await managers(), ['autoscaler Apply scale apps/v1']);
    const other = await refused('PATCH', SCALE, scaleOf(6), asked('other'));
    assert.match(other.message ?? '', /conflict with "autoscaler" with subresource "scale": .spec.replicas$/);
  });

  it('is shared by managers that agree, until one lets go', async () => {
    const { ok, asked, managers } = await given();
    await ok('PATCH', SCALE, scaleOf(5), asked('one', true));
    await ok('PATCH', SCALE, scaleOf(5), asked('two'));
    assert.equal((await managers()).length, 2);
    assert.deepEqual((await ok('PATCH', SCALE, scaleOf(), asked('two')))['spec'], { replicas: 5 });
    assert.deepEqual(await managers(), ['one Apply scale apps/v1']);
  });

  it('refuses what is no Scale of this name', async () => {
    const { refused, asked } = await given();
    assert.equal(
      (await refused('PATCH', SCALE, { spec: { replicas: 5 } }, asked('one'))).message,
      'invalid object type: /, Kind=',
    );
    const renamed = { ...scaleOf(5), metadata: { name: 'other' } };
    assert.equal((await refused('PATCH', SCALE, renamed, asked('one', true))).code, 400);
    assert.equal((await refused('PATCH', SCALE, renamed, asked('one'))).code, 409, 'a conflict is reported first');
    assert.equal((await refused('PATCH', SCALE, scaleOf(-1), asked('one', true))).code, 422);
    assert.equal((await refused('PATCH', `${DEPLOYMENTS}/none/scale`, scaleOf(1), asked('one'))).code, 404);
  });
});

describe('a patch of a scale', () => {
  it('with another name scales nothing', async () => {
    const { ok, refused } = testServer();
    await ok('POST', DEPLOYMENTS, deployment('web', { replicas: 2 }));
    const patch = { metadata: { name: 'other' }, spec: { replicas: 5 } };
    const { code, message } = await refused('PATCH', `${DEPLOYMENTS}/web/scale`, patch, {
      contentType: 'application/merge-patch+json',
    });
    assert.equal(code, 400);
    assert.equal(message, 'the name of the object (other) does not match the name on the URL (web)');
    assert.deepEqual((await ok('GET', `${DEPLOYMENTS}/web/scale`))['spec'], { replicas: 2 });
  });

  it('in JSON sets the replica count, or is refused', async () => {
    const { ok, refused } = testServer();
    await ok('POST', DEPLOYMENTS, deployment('web', { replicas: 2 }));
    const asked = { contentType: 'application/json-patch+json' };
    const path = `${DEPLOYMENTS}/web/scale`;
    const patched = await ok('PATCH', path, [{ op: 'replace', path: '/spec/replicas', value: 5 }], asked);
    assert.deepEqual(patched['spec'], { replicas: 5 });
    assert.equal((await refused('PATCH', path, [{ op: 'test', path: '/spec/replicas', value: 4 }], asked)).code, 422);
    assert.deepEqual((await ok('GET', path))['spec'], { replicas: 5 });
  });
});
