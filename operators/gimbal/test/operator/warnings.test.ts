// Warnings about a backend that works.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DiscoveryBackend } from '../../src/index.ts';
import { backendOf, played, SECOND } from './fixtures.ts';

test('a backend whose name is a prefix of another one’s gets one warning, and goes on running', () =>
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

test('a next Secret that has come into force is reported as such, until nothing else is named', () =>
  played({}, async (stage) => {
    await stage.secret('next', SECOND);
    await stage.edit({ rotation: { secret: 'next' } });
    await stage.pass(10_000);
    await stage.rollOut();
    await stage.report();
    assert.equal((await stage.backend()).status?.credentials?.source, 'next');
    assert.match(
      await stage.message('RotationPending'),
      /^the Secret next of rotation.secret counts; remove that field/,
    );
    await stage.edit({ secret: 'next', rotation: null });
    assert.equal(await stage.message('RotationPending'), '');
  }));
