import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { APIService } from '@capstan/kube';
import { testServer } from '../../server.test-support.ts';

const API_SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const apiService = (name: string, spec: object = {}) => ({
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name },
  spec: { group: 'metrics.example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10, ...spec },
});

describe('an APIService', () => {
  it('is stored, listed, watched and changed, and aggregates nothing', async () => {
    const { ok, send, watch } = testServer();
    const events = await watch(API_SERVICES);
    const service = { name: 'metrics', namespace: 'default' };
    const made = (await ok('POST', API_SERVICES, apiService('v1.metrics.example.com', { service }))) as APIService;
    assert.equal(made.spec?.service?.port, 443);
    assert.deepEqual(made.status, {});
    const patched = await ok(
      'PATCH',
      `${API_SERVICES}/v1.metrics.example.com`,
      { spec: { caBundle: 'Y2E=' } },
      { contentType: 'application/merge-patch+json' },
    );
    assert.equal((patched as APIService).spec?.caBundle, 'Y2E=');
    assert.equal(((await ok('GET', API_SERVICES))['items'] as unknown[]).length, 1);
    assert.deepEqual(
      (await events.take()).map(({ type }) => type),
      ['ADDED', 'MODIFIED'],
    );
    assert.equal((await send('GET', '/apis/metrics.example.com/v1')).status, 404);
  });

  it('is available at once where it stands for this server', async () => {
    const { ok } = testServer();
    const made = (await ok('POST', API_SERVICES, apiService('v1.metrics.example.com'))) as APIService;
    assert.deepEqual(
      made.status?.conditions?.map(({ type, status, reason }) => [type, status, reason]),
      [['Available', 'True', 'Local']],
    );
  });

  it('is refused with a wrong name, priorities out of range and a contradicting bundle', async () => {
    const { refused } = testServer();
    const spec = { groupPriorityMinimum: 0, versionPriority: 2000, insecureSkipTLSVerify: true, caBundle: 'Y2E=' };
    const fields = async (body: object) =>
      (await refused('POST', API_SERVICES, body)).details?.causes?.map(({ field }) => field);
    assert.deepEqual(await fields(apiService('wrong', spec)), [
      'metadata.name',
      'spec.groupPriorityMinimum',
      'spec.versionPriority',
      'spec.caBundle',
      'spec.insecureSkipTLSVerify',
    ]);
    const service = { name: '', namespace: '', port: 70_000 };
    assert.deepEqual(await fields(apiService('v1.metrics.example.com', { service })), [
      'spec.service.namespace',
      'spec.service.name',
      'spec.service.port',
    ]);
  });
});
