import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { age } from './backends.ts';
import { fieldPatch } from './find-backends.ts';
import { settingsFromFlags } from './flags.ts';
import { requestOf } from './program.ts';
import { rotationPatch } from './rotate.ts';

describe('flags of the operator', () => {
  test('become settings', () => {
    assert.deepEqual(settingsFromFlags({}), {});
    assert.deepEqual(settingsFromFlags({ image: 'x:1', 'write-endpoints': 'true' }), {
      image: 'x:1',
      writeEndpoints: true,
    });
  });
  test('that cannot be used are told with a remedy, those that do not exist without', () => {
    for (const [flag, value] of [
      ['image', ''],
      ['write-endpoints', 'perhaps'],
    ] as const) {
      const found = settingsFromFlags({ [flag]: value });
      assert.ok('fault' in found && found.fault.flag === flag && found.fault.remedy !== undefined);
    }
    assert.deepEqual(settingsFromFlags({ imag: 'x' }), { fault: { flag: 'imag', remedy: undefined } });
  });
});

describe('the program', () => {
  test('runs its operator with its own flags and Capstan’s', () =>
    assert.deepEqual(requestOf(['operator', '--image', 'x:1', '--write-endpoints', '--install-crds']), {
      what: 'capstan',
      argv: ['run', '--operators', 'gimbal', '--gimbal.image=x:1', '--gimbal.write-endpoints=true', '--install-crds'],
    }));
  test('has commands of its own, and leaves the others to Capstan', () => {
    assert.deepEqual(requestOf(['drain', 'east', '--wait']), { what: 'drain', argv: ['east', '--wait'] });
    assert.deepEqual(requestOf(['rbac', 'remote', 'kubernetes']), { what: 'rbac', argv: ['remote', 'kubernetes'] });
    assert.deepEqual(requestOf(['rbac']), { what: 'capstan', argv: ['rbac'] });
    assert.deepEqual(requestOf(['why', 'deployment/x']), { what: 'capstan', argv: ['why', 'deployment/x'] });
  });
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
