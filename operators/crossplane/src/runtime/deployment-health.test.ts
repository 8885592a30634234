import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Deployment } from '@capstan/kube';
import { deploymentHealth } from './deployment-health.ts';

const deployment = (status: object, generation = 2, replicas = 1) =>
  ({ metadata: { generation }, spec: { replicas }, status }) as unknown as Deployment;
const available = (status: string) => [{ type: 'Available', status, message: 'words of the controller' }];

describe('the health of a Deployment', () => {
  const cases: [string, Deployment, [boolean, boolean]][] = [
    ['fresh', deployment({}), [false, false]],
    [
      'ready',
      deployment({
        observedGeneration: 2,
        replicas: 1,
        updatedReplicas: 1,
        availableReplicas: 1,
        conditions: available('True'),
      }),
      [true, true],
    ],
    [
      'edited a moment ago',
      deployment({ observedGeneration: 1, replicas: 1, updatedReplicas: 1, conditions: available('True') }),
      [true, false],
    ],
    [
      'rolling',
      deployment({ observedGeneration: 2, replicas: 2, updatedReplicas: 1, conditions: available('True') }),
      [true, false],
    ],
    [
      'down',
      deployment({ observedGeneration: 2, replicas: 1, updatedReplicas: 1, conditions: available('False') }),
      [false, false],
    ],
    ['scaled to nothing', deployment({ observedGeneration: 2, conditions: available('True') }, 2, 0), [true, true]],
  ];
  for (const [name, found, expected] of cases)
    test(name, () => {
      const { isAvailable, isComplete } = deploymentHealth(found);
      assert.deepEqual([isAvailable, isComplete], expected);
    });

  test('says what the controller says', () => {
    assert.equal(deploymentHealth(deployment({ conditions: available('False') })).message, 'words of the controller');
  });
});
