// The account of proxy pods: the one that the KafkaProxy names, and the default one when it names none any more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from '@capstan/kube';
import { KafkaProxy } from '../src/index.ts';
import { get, minimal, NAMESPACE, proxy, staged } from './fixtures.ts';

const accountOf = async (client: Client) => {
  const { spec } = await get.deployment(client);
  return spec?.template.spec?.serviceAccountName;
};

test('pods run under the account that their proxy names, and under the default one when it names none any more', () =>
  staged(
    { objects: [proxy({ infrastructure: { pod: { serviceAccountName: 'proxies' } } }), ...minimal().slice(1)] },
    async ({ client, settle }) => {
      assert.equal(await accountOf(client), 'proxies');
      const name = (pod: object | null) =>
        client.patch(KafkaProxy, { namespace: NAMESPACE, name: 'my-proxy' }, 'merge', {
          spec: { infrastructure: { pod } },
        });
      await name({ serviceAccountName: 'others' });
      await settle();
      assert.equal(await accountOf(client), 'others');
      await name(null);
      await settle();
      assert.equal(await accountOf(client), undefined);
    },
  ));
