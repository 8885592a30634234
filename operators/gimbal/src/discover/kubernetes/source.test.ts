import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock } from '@capstan/testing';
import { DiscoverErrors } from '../errors.ts';
import { createKubernetesSource } from './source.ts';

it('missing credentials are reported, and read again until they exist', async () => {
  const clock = createVirtualClock();
  const cluster = await createTestCluster({ clock, random: createRandom(1) });
  let isThere = false;
  const remote = createKubernetesSource({
    client: () =>
      isThere ? Promise.resolve(cluster.client) : Promise.reject(DiscoverErrors.KeyMissing('/secret', ['config'])),
    backend: 'east',
    namespaces: { include: [], exclude: [] },
    writeEndpoints: false,
    clock,
    random: createRandom(2),
    logger: silentLogger,
  });
  let reported = 0;
  let taken = 0;
  const receiver = {
    client: cluster.client,
    open: () => ({ take: () => void taken++ }),
    stateChanged: () => void reported++,
    confirmed() {},
  };
  const stopping = new AbortController();
  const done = remote.run(receiver, stopping.signal);
  await clock.advance(60_000);
  assert.equal(remote.isLive, false);
  assert.equal(remote.failure?.type, 'SecretMissing');
  assert.equal(taken, 0);
  isThere = true;
  await clock.advance(300_000);
  assert.equal(remote.isLive, true);
  assert.equal(remote.failure, undefined);
  assert.ok(taken > 0);
  assert.ok(reported > 1);
  stopping.abort();
  await clock.settle();
  await done;
  await cluster.close();
});
