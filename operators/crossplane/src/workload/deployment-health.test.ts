import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Deployment, Pod } from '@capstan/kube';
import { deploymentHealth, podTrouble } from './deployment-health.ts';

const deployment = (status: object, generation = 2, replicas = 1) =>
  ({ metadata: { generation }, spec: { replicas }, status }) as unknown as Deployment;
const available = (status: string) => [{ type: 'Available', status, message: 'words of the controller' }];

describe('the health of a Deployment', () => {
  const cases: [string, Deployment, [boolean, boolean]][] = [
    ['fresh', deployment({}), [false, false]],
    [
      'ready',
      deployment({ observedGeneration: 2, replicas: 1, updatedReplicas: 1, conditions: available('True') }),
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

describe('the trouble of a pod', () => {
  const pod = (status: object) => ({ metadata: { name: 'p' }, status }) as unknown as Pod;
  const crashed = (message: string) =>
    pod({
      containerStatuses: [
        {
          name: 'package-runtime',
          state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } },
          lastState: { terminated: { exitCode: 3, message } },
        },
      ],
    });
  test('is none while it starts or runs', () => {
    assert.equal(podTrouble(pod({}), 0), undefined);
    assert.equal(
      podTrouble(pod({ containerStatuses: [{ name: 'c', state: { waiting: { reason: 'ContainerCreating' } } }] }), 0),
      undefined,
    );
  });
  test('is told with its last words, as many lines as are asked for', () => {
    assert.equal(
      podTrouble(crashed('a\nb\nc\n'), 0),
      'container package-runtime of pod p: CrashLoopBackOff; it ended with code 3; c',
    );
    assert.match(podTrouble(crashed('a\nb\nc\n'), 2) ?? '', /code 3; b\nc$/);
  });
  test('is never longer than a status can bear', () => {
    assert.ok((podTrouble(crashed('x'.repeat(5000)), 0) ?? '').length <= 1000);
  });
  test('of one that cannot be scheduled is that', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }];
    assert.equal(podTrouble(pod({ conditions }), 0), 'pod p cannot be scheduled: 0/1 nodes');
  });
});
