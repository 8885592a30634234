// What should be known of a backend, and keeps nothing from working.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DiscoveryBackend } from '../../src/index.ts';
import { backendOf, played } from './fixtures.ts';

test('a backend whose name begins another one’s is told so, once, and goes on running', () =>
  played({}, async (stage) => {
    await stage.rollOut();
    await stage.report();
    assert.equal((await stage.backend()).status?.phase, 'Running');
    for (const namespace of ['default', 'kube-public'])
      await stage.client.create(DiscoveryBackend, backendOf('east-two', {}, namespace));
    await stage.settle();
    const { status } = await stage.backend();
    assert.deepEqual(
      status?.errors?.map(({ type }) => type),
      ['PrefixOverlap'],
    );
    assert.match(status.errors[0]?.message ?? '', / of east-two may /);
    assert.equal(status.phase, 'Running');
  }));
