import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addressesOf, discovered, namespace, remoteService, staged } from './stage.ts';

it('what a remote cluster has appears here', () =>
  staged(async ({ remote, local, start, settle }) => {
    await namespace(local.client, 'team');
    await namespace(remote.client, 'team');
    await remoteService(remote.client, 'team/web', ['10.0.0.1']);
    const running = start();
    await settle();
    assert.equal(running.discoverer.isReady, true);
    assert.deepEqual(await discovered(local.client), ['team/east-web']);
    assert.deepEqual(await addressesOf(local.client, 'team/east-web'), ['10.0.0.1']);
  }));
