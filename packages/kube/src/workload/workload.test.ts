import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerStatus, Deployment, Pod } from '../builtin/index.ts';
import { lastLines, podProblem } from './pod-problem.ts';
import { rolloutProgress } from './rollout-progress.ts';

describe('the problem of a pod', () => {
  const container = (parts: Partial<ContainerStatus>, name = 'c'): ContainerStatus => ({
    name,
    image: 'i',
    imageID: '',
    ready: false,
    restartCount: 1,
    ...parts,
  });
  const pod = (status: Pod['status'], metadata: object = {}): Pod => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', ...metadata },
    ...(status && { status }),
  });
  const terminated = { exitCode: 3, reason: 'Error', message: 'a\nb\nc\n', finishedAt: '2026-01-01T00:00:00Z' };
  const waiting = (reason: string, message = '') => ({ waiting: { reason, message } });

  const healthy: [string, Pod][] = [
    ['has said nothing yet', pod(undefined)],
    ['starts', pod({ containerStatuses: [container({ state: waiting('ContainerCreating') })] })],
    ['runs again after it failed', pod({ containerStatuses: [container({ ready: true, lastState: { terminated } })] })],
    ['ended well', pod({ containerStatuses: [container({ state: { terminated: { exitCode: 0 } } })] })],
    [
      'is being deleted',
      pod({ containerStatuses: [container({ state: { terminated } })] }, { deletionTimestamp: 'x' }),
    ],
  ];
  for (const [title, one] of healthy)
    test(`is none of one that ${title}`, () => assert.equal(podProblem(one), undefined));

  test('is the same between two attempts and during one', () => {
    const states = [waiting('CrashLoopBackOff', 'back-off 10s'), { running: {} }, { terminated }];
    for (const state of states)
      assert.deepEqual(podProblem(pod({ containerStatuses: [container({ state, lastState: { terminated } })] })), {
        message: 'pod p ended with code 3: c',
        at: '2026-01-01T00:00:00Z',
      });
  });

  test('has its termination message, or where to find its log', () => {
    const crashed = (message: string, reason = 'Error') =>
      pod({ containerStatuses: [container({ state: { terminated: { exitCode: 137, reason, message } } })] });
    assert.equal(podProblem(crashed('', 'OOMKilled'))?.message, 'pod p ended with code 137 (OOMKilled); see its log');
    const words = (text: string) => lastLines(text, 2);
    assert.equal(podProblem(crashed('a\nb\nc\n'), { words })?.message, 'pod p ended with code 137: b\nc');
    assert.equal(podProblem(crashed('x'.repeat(5000)))?.message.length, 1000, 'no longer than a status can bear');
  });

  test('is that it waits or cannot be scheduled, and names the container where there are several', () => {
    const stuck = container({ state: waiting('ErrImagePull', 'not found') }, 'main');
    assert.equal(podProblem(pod({ containerStatuses: [stuck] }))?.message, 'pod p waits: ErrImagePull: not found');
    const fine = container({ ready: true }, 'side');
    const both = pod({ initContainerStatuses: [stuck], containerStatuses: [fine] });
    assert.equal(podProblem(both)?.message, 'container main of pod p waits: ErrImagePull: not found');
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }];
    assert.equal(podProblem(pod({ conditions }))?.message, 'pod p cannot be scheduled: 0/1 nodes');
  });
});

describe('the progress of a rollout', () => {
  const deployment = (status: Deployment['status'], spec: object = {}): Deployment =>
    ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { generation: 2 },
      spec: { replicas: 2, ...spec },
      status,
    }) as Deployment;
  const done = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2, readyReplicas: 2 };

  const cases: [title: string, status: object, isComplete: boolean][] = [
    ['every pod is new and available', done, true],
    ['the controller has not seen the change', { ...done, observedGeneration: 1 }, false],
    ['a pod of the template before is left', { ...done, replicas: 3 }, false],
    ['a new pod is not available', { ...done, availableReplicas: 1 }, false],
    ['not all pods are new', { ...done, replicas: 2, updatedReplicas: 1 }, false],
    ['nothing is known', {}, false],
  ];
  for (const [title, status, isComplete] of cases)
    test(`is ${isComplete ? 'complete' : 'not complete'} when ${title}`, () =>
      assert.equal(rolloutProgress(deployment(status)).isComplete, isComplete));

  test('is available as its condition has it, or by its pods', () => {
    const condition = (status: string) => [{ type: 'Available', status }];
    assert.equal(rolloutProgress(deployment({ ...done, conditions: condition('False') })).isAvailable, false);
    assert.equal(rolloutProgress(deployment({ conditions: condition('True') })).isAvailable, true);
    assert.equal(rolloutProgress(deployment({ availableReplicas: 1 })).isAvailable, true);
    assert.equal(rolloutProgress(deployment({})).isAvailable, false);
  });

  test('has the problem that the controller reports, and is paused by its user', () => {
    const conditions = [{ type: 'Progressing', status: 'False', message: 'too late', lastTransitionTime: 't' }];
    assert.deepEqual(rolloutProgress(deployment({ ...done, conditions })).problem, { message: 'too late', since: 't' });
    assert.equal(
      rolloutProgress(deployment({ observedGeneration: 1, conditions })).problem,
      undefined,
      'it is not seen yet',
    );
    assert.equal(rolloutProgress(deployment(done)).problem, undefined);
    assert.equal(rolloutProgress(deployment(done, { paused: true })).isPaused, true);
  });
});
