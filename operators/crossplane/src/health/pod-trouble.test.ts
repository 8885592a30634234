import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '@capstan/kube';
import { podTrouble } from './pod-trouble.ts';

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
