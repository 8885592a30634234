import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import { podPrinter } from './pod-printer.ts';

const NOW = Date.UTC(2026, 0, 2);
const running = { ready: true, restartCount: 0, state: { running: {} } };
const ended = (exitCode: number, more: object = {}) => ({
  ready: false,
  restartCount: 0,
  state: { terminated: { exitCode, ...more } },
});

interface Case {
  name: string;
  spec?: object;
  status?: object;
  metadata?: object;
  expected: [ready: string, status: string, restarts?: string];
}

const one = { containers: [{ name: 'a' }] };
const two = { containers: [{ name: 'a' }, { name: 'b' }] };
const init = { ...one, initContainers: [{ name: 'i' }, { name: 'j' }] };
const sidecar = { ...one, initContainers: [{ name: 's', restartPolicy: 'Always' }] };

const cases: Case[] = [
  { name: 'waits for a node', spec: one, status: { phase: 'Pending' }, expected: ['0/1', 'Pending'] },
  {
    name: 'is held by a gate',
    spec: one,
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] },
    expected: ['0/1', 'SchedulingGated'],
  },
  {
    name: 'runs',
    spec: two,
    status: { phase: 'Running', containerStatuses: [running, running] },
    expected: ['2/2', 'Running'],
  },
  {
    name: 'crashes again and again',
    spec: one,
    status: {
      phase: 'Running',
      containerStatuses: [
        {
          ready: false,
          restartCount: 7,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 1, finishedAt: '2026-01-01T23:58:00Z' } },
        },
      ],
    },
    expected: ['0/1', 'CrashLoopBackOff', '7 (2m ago)'],
  },
  {
    name: 'has ended well',
    spec: one,
    status: { phase: 'Succeeded', containerStatuses: [ended(0, { reason: 'Completed' })] },
    expected: ['0/1', 'Completed'],
  },
  {
    name: 'was killed by a signal',
    spec: one,
    status: { phase: 'Failed', containerStatuses: [ended(137, { signal: 9 })] },
    expected: ['0/1', 'Signal:9'],
  },
  {
    name: 'runs on beside a container that is done',
    spec: two,
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [ended(0, { reason: 'Completed' }), running],
    },
    expected: ['1/2', 'Running'],
  },
  {
    name: 'is at its second init container',
    spec: init,
    status: { phase: 'Pending', initContainerStatuses: [ended(0), { ready: false, restartCount: 1, state: {} }] },
    expected: ['0/1', 'Init:1/2', '1'],
  },
  {
    name: 'failed to initialise',
    spec: init,
    status: { phase: 'Pending', initContainerStatuses: [ended(3)] },
    expected: ['0/1', 'Init:ExitCode:3'],
  },
  {
    name: 'counts a sidecar',
    spec: sidecar,
    status: {
      phase: 'Running',
      initContainerStatuses: [{ name: 's', started: true, ...running }],
      containerStatuses: [running],
    },
    expected: ['2/2', 'Running'],
  },
  {
    name: 'is being deleted',
    spec: one,
    metadata: { deletionTimestamp: '2026-01-02T00:00:00Z' },
    status: { phase: 'Running', containerStatuses: [running] },
    expected: ['1/1', 'Terminating'],
  },
  { name: 'was evicted', spec: one, status: { phase: 'Failed', reason: 'Evicted' }, expected: ['0/1', 'Evicted'] },
];

const podOf = ({ spec, status, metadata }: Partial<Case>): UnknownObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
  spec,
  status,
});

describe('the row of a pod', () => {
  for (const given of cases) {
    it(`the row shows a pod that ${given.name}`, () => {
      const [, ready, status, restarts, age] = podPrinter.cells(podOf(given), NOW);
      assert.deepEqual([ready, status, restarts], [...given.expected, '0'].slice(0, 3));
      assert.equal(age, '24h');
    });
  }

  it('shows address, node and readiness gates when wide', () => {
    const pod = podOf({
      spec: { ...one, nodeName: 'n', readinessGates: [{ conditionType: 'x' }, { conditionType: 'y' }] },
      status: { podIPs: [{ ip: '127.64.0.2' }], conditions: [{ type: 'x', status: 'True' }] },
    });
    assert.deepEqual(podPrinter.cells(pod, NOW).slice(5), ['127.64.0.2', 'n', '<none>', '1/2']);
  });

  it('says that an ended pod is complete', () => {
    const [condition] = podPrinter.conditions?.(podOf({ status: { phase: 'Failed' } })) ?? [];
    assert.equal(condition?.reason, 'Failed');
    assert.deepEqual(podPrinter.conditions?.(podOf({ status: { phase: 'Running' } })), []);
  });
});
