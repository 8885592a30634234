import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { noCondition } from '../../plan/index.ts';
import { virtuallyApplied, virtuallyWithStatus } from './virtual.ts';

const existing = (apiVersion: string, kind: string) =>
  ({
    apiVersion,
    kind,
    metadata: { namespace: 'default', name: 'a', generation: 3, annotations: { applied: '1' } },
    spec: { replicas: 2 },
  }) as KubeObject;
const written = (apiVersion: string, kind: string, applied: string, replicas = 2) =>
  ({
    apiVersion,
    kind,
    metadata: { namespace: 'default', name: 'a', annotations: { applied } },
    spec: { replicas },
  }) as KubeObject;

describe('a previewed apply', () => {
  for (const [apiVersion, kind, applied, replicas, generation] of [
    ['apps/v1', 'Deployment', '1', 2, 3],
    ['apps/v1', 'Deployment', '2', 2, 4],
    ['apps/v1', 'Deployment', '1', 1, 4],
    ['apps/v1', 'DaemonSet', '2', 2, 3],
    ['apps/v1', 'StatefulSet', '2', 1, 4],
    ['example.dev/v1', 'Deployment', '2', 2, 3],
  ] as const)
    test(`gives the ${kind} of ${apiVersion} with annotation ${applied} and ${replicas} replicas the generation ${generation}`, () => {
      const { metadata } = virtuallyApplied(
        existing(apiVersion, kind),
        written(apiVersion, kind, applied, replicas),
        'capstan-test',
      );
      assert.equal(metadata.generation, generation);
    });
});

describe('a previewed status', () => {
  test('loses its last condition', () => {
    const time = '2026-01-01T00:00:00Z';
    const paused = { type: 'Paused', status: 'True', reason: 'Paused', message: '', lastTransitionTime: time };
    const object = { ...existing('example.dev/v1', 'Site'), status: { url: 'a', conditions: [paused] } } as KubeObject;
    const write = { input: {}, conditions: [noCondition('Paused')], generation: 1, isUrgent: true };
    const { status } = virtuallyWithStatus(object, write, time) as KubeObject & { status?: unknown };
    assert.deepEqual(status, { url: 'a' });
  });
});
