import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Client } from '@capstan/kube';
import { GATEWAY_GROUP } from './references.ts';
import { servedGatewayKinds } from './served-kinds.ts';

/** A server that has these kinds of the group, by version. */
function serverWith(served: Readonly<Record<string, readonly string[]>>): Client {
  const versions = Object.keys(served);
  return {
    async request({ path }: { path: string }) {
      if (path === '/apis')
        return { body: { groups: [{ name: GATEWAY_GROUP, versions: versions.map((version) => ({ version })) }] } };
      const kinds = served[path.slice(`/apis/${GATEWAY_GROUP}/`.length)] ?? [];
      const resources = kinds.map((kind) => ({
        name: `${kind.toLowerCase()}s`,
        kind,
        namespaced: true,
        verbs: ['list'],
      }));
      return { body: { resources } };
    },
  } as unknown as Client;
}

suite('versions of the Gateway API', () => {
  test('the newest that is served is read, of each kind', async () => {
    const kinds = await servedGatewayKinds(
      serverWith({
        v1: ['Gateway', 'HTTPRoute'],
        v1beta1: ['Gateway', 'ReferenceGrant'],
        v1alpha2: ['TLSRoute', 'TCPRoute'],
      }),
    );
    assert.deepEqual(
      [kinds.Gateway, kinds.HTTPRoute, kinds.ReferenceGrant, kinds.TLSRoute, kinds.TCPRoute].map(
        ({ version }) => version,
      ),
      ['v1', 'v1', 'v1beta1', 'v1alpha2', 'v1alpha2'],
    );
  });

  test('the version of the Gateway API is v1 without the group, or without an answer', async () => {
    assert.equal((await servedGatewayKinds(serverWith({}))).TLSRoute.version, 'v1');
    const silent = { request: () => Promise.reject(new Error('no answer')) } as unknown as Client;
    assert.equal((await servedGatewayKinds(silent)).Gateway.version, 'v1');
  });
});
