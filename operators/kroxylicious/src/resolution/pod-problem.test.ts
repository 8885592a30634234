import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerStatus, Pod } from '@capstan/kube';
import { podProblemOf } from './pod-problem.ts';

const labels = { 'app.kubernetes.io/managed-by': 'kroxylicious-operator', 'kroxylicious.io/virtual-cluster': 'orders' };
const container = (parts: Partial<ContainerStatus>): ContainerStatus => ({
  name: 'proxy',
  image: 'proxy',
  imageID: '',
  ready: false,
  restartCount: 1,
  ...parts,
});
const pod = (container?: ContainerStatus, metadata: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'edge', name: 'p-1', labels, ...metadata },
  status: { containerStatuses: container === undefined ? [] : [container] },
});
const ended = (message?: string, exitCode = 1) => ({
  terminated: { exitCode, reason: 'Error', ...(message === undefined ? {} : { message }) },
});
const STACK = [
  'Exception in thread "main" java.lang.IllegalArgumentException: Could not parse configuration',
  '\tat io.kroxylicious.proxy.config.ConfigParser.parseConfiguration(ConfigParser.java:62)',
  'Caused by: com.example.Outer: outer',
  '\t... 1 more',
  "Caused by: com.example.UnknownPlugin: no plugin 'Nonsense'",
  '\tat com.example.Registry.find(Registry.java:113)',
  '\t... 18 more',
].join('\n');

describe('the problem of a pod', () => {
  test('is the innermost cause of a proxy that ended, between two attempts and during one', () => {
    const text = "pod p-1 ended with code 1: com.example.UnknownPlugin: no plugin 'Nonsense'";
    for (const state of [{ waiting: { reason: 'CrashLoopBackOff' } }, { running: {} }])
      assert.deepEqual(podProblemOf(pod(container({ state, lastState: ended(STACK) }))), { cluster: 'orders', text });
    assert.equal(podProblemOf(pod(container({ state: ended(STACK) })))?.text, text);
    assert.equal(
      podProblemOf(pod(container({ lastState: ended('two\nlines') })))?.text,
      'pod p-1 ended with code 1: lines',
    );
    const cut = (first: string) =>
      podProblemOf(pod(container({ lastState: ended(`${first}\n\tat a.B(B.java:1)`) })))?.text;
    assert.equal(cut('ed by: no plugin'), 'pod p-1 ended with code 1: … ed by: no plugin');
    assert.equal(cut('at a.C(C.java:1)'), 'pod p-1 ended with code 1; see its log');
    assert.equal(podProblemOf(pod(container({ lastState: ended() })))?.text, 'pod p-1 ended with code 1; see its log');
  });

  test('is a missing image, volume or node', () => {
    const waiting = { reason: 'ErrImagePull', message: 'not found' };
    assert.equal(podProblemOf(pod(container({ state: { waiting } })))?.text, 'pod p-1 waits: ErrImagePull: not found');
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }];
    assert.equal(podProblemOf({ ...pod(), status: { conditions } })?.text, 'pod p-1 cannot be scheduled: 0/3 nodes');
  });

  test('is undefined while the pod starts, when it is ready and when it is deleted', () => {
    assert.equal(podProblemOf(pod()), undefined);
    assert.equal(podProblemOf(pod(container({ state: { waiting: { reason: 'ContainerCreating' } } }))), undefined);
    assert.equal(podProblemOf(pod(container({ ready: true, lastState: ended(STACK) }))), undefined);
    assert.equal(podProblemOf(pod(container({ lastState: ended('', 0) }))), undefined);
    const going = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    assert.equal(podProblemOf(pod(container({ lastState: ended(STACK) }), going)), undefined);
  });
});
