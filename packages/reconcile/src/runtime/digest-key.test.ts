import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, ConfigMap, Secret, systemClock } from '@capstan/kube';
import { createRandom, createTestCluster } from '@capstan/testing';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { reconciler } from '../reconciler.ts';
import { ensureDigestKey, findDigestKey, readsSensitive } from './digest-key.ts';

const options = { namespace: 'default', operator: 'sites' };
const ref = { namespace: 'default', name: 'capstan-sites-digest-key' };

async function withClient(check: (client: Client) => Promise<void>): Promise<void> {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1) });
  try {
    await check(cluster.client);
  } finally {
    await cluster.close();
  }
}

describe('the key for digests of secrets', () => {
  test('is made once and found again', () =>
    withClient(async (client) => {
      assert.equal(await findDigestKey(client, options), undefined);
      const key = await ensureDigestKey(client, options);
      assert.equal(key.bytes.length, 32);
      assert.match(key.id, /^[0-9a-f]{8}$/);
      assert.deepEqual(await ensureDigestKey(client, options), key);
    }));

  test('is the same for replicas that start at the same time', () =>
    withClient(async (client) => {
      const keys = await Promise.all([1, 2, 3].map(() => ensureDigestKey(client, options)));
      assert.equal(new Set(keys.map(({ id }) => id)).size, 1);
    }));

  test('the key for digests of secrets that is damaged is reported by the name of its Secret, without its content', () =>
    withClient(async (client) => {
      const data = { id: Buffer.from('a.b').toString('base64'), key: Buffer.from('short').toString('base64') };
      await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: ref, data });
      await assert.rejects(ensureDigestKey(client, options), (error: Error) => {
        assert.match(error.message, /the Secret default\/capstan-sites-digest-key holds no key.*; delete it/);
        assert.doesNotMatch(error.message, /short/);
        return true;
      });
    }));

  test('is needed by operators that read secrets, and by no others', () => {
    const reading = (reads: (typeof ConfigMap | typeof Secret)[]) =>
      operator({
        name: 'x',
        kinds: [],
        reconcilers: [reconciler({ name: 'x', resource: ConfigMap, reads, reconcile: () => plan() })],
      });
    assert.equal(readsSensitive(reading([Secret])), true);
    assert.equal(readsSensitive(reading([ConfigMap])), false);
  });
});
