import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseFlags } from '@capstan/reconcile/command-line';
import { settingsOf } from '../settings.ts';
import { age } from './backends.ts';
import { fieldPatch } from './find-backends.ts';
import { FLAGS } from './flags.ts';
import { rotationPatch } from './rotate.ts';

describe('flags of the operator', () => {
  test('become settings', () => {
    const { image } = settingsOf(parseFlags(FLAGS, {}));
    assert.match(image, /^capstan:\d/);
    assert.deepEqual(settingsOf(parseFlags(FLAGS, { image: ['x:1'], 'write-endpoints': ['true'] })), {
      image: 'x:1',
      writeEndpoints: true,
    });
  });
  for (const [flag, value] of [
    ['image', ''],
    ['write-endpoints', 'perhaps'],
  ] as const)
    test(`--${flag}=${value} is refused with a remedy`, () =>
      assert.throws(() => parseFlags(FLAGS, { [flag]: [value] }), /cannot be .*; (give|use)/));
});

test('a field is changed where its user wrote it, and under his name for it', () => {
  const names = ['secret', 'credentials', 'secretName', 'secretRef'] as const;
  assert.deepEqual(fieldPatch({ spec: { secret: 'a' } }, names, 'b'), { spec: { secret: 'b' } });
  assert.deepEqual(fieldPatch({ cluster: { credentials: 'a' } }, names, 'b'), { cluster: { credentials: 'b' } });
  assert.deepEqual(fieldPatch({ spec: { secretRef: { name: 'a' } } }, names, 'b'), {
    spec: { secretRef: { name: 'b' } },
  });
  assert.deepEqual(fieldPatch({ spec: { secret: 'a' }, cluster: { credentials: 'a' } }, names, 'b'), {
    cluster: { credentials: 'b' },
    spec: { secret: 'b' },
  });
  assert.deepEqual(fieldPatch({ cluster: { type: 'kubernetes' } }, ['clusterStatus', 'ClusterStatus'], 'Maintenance'), {
    cluster: { clusterStatus: 'Maintenance' },
  });
  assert.deepEqual(
    fieldPatch({ spec: { ClusterStatus: 'enabled' } }, ['clusterStatus', 'ClusterStatus'], 'Maintenance'),
    {
      spec: { ClusterStatus: 'Maintenance' },
    },
  );
});

test('a Secret that was to come next does not stand in the way of another one', () => {
  assert.deepEqual(rotationPatch({ spec: { secret: 'a', rotation: { secret: 'b', window: '0 2 * * 6/3h' } } }, 'c'), {
    spec: { secret: 'c', rotation: { secret: null } },
  });
  assert.deepEqual(rotationPatch({ cluster: { credentials: 'a' }, spec: { rotation: { secret: 'b' } } }, 'c'), {
    cluster: { credentials: 'c' },
    spec: { rotation: { secret: null } },
  });
  assert.deepEqual(rotationPatch({ spec: { secret: 'a', rotation: {} } }, 'c'), { spec: { secret: 'c' } });
});

test('ages are short', () =>
  assert.deepEqual([5, 119, 120, 7199, 7200, 200_000].map(age), ['5s', '119s', '2m', '119m', '2h', '2d']));
