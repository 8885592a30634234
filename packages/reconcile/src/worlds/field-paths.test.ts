import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { createFieldFilter, type FieldNeed } from './field-paths.ts';

const annotations = { 'example.com/one': '1', 'example.com/two': '2' };
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'a',
    namespace: 'n',
    uid: 'u',
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
    generateName: 'a-',
    labels: { app: 'web' },
    annotations: {
      ...annotations,
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      'capstan.dev/applied': 'x',
      'original.capstan.dev/i': 'y',
    },
    managedFields: [{ manager: 'capstan-x' }],
  },
  spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i', env: [{ name: 'E' }] }] },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
} as unknown as KubeObject & { spec: object; status: object };

const identity = {
  name: 'a',
  namespace: 'n',
  uid: 'u',
  resourceVersion: '7',
  creationTimestamp: '2026-01-01T00:00:00Z',
};
const metadata = {
  ...identity,
  labels: { app: 'web' },
  annotations: { 'capstan.dev/applied': 'x', 'original.capstan.dev/i': 'y' },
  managedFields: [{ manager: 'capstan-x' }],
};
const keep = (needs: readonly FieldNeed[]) => createFieldFilter(needs)(pod);
const base = { apiVersion: 'v1', kind: 'Pod', metadata, spec: {} };

describe('a cache keeps', () => {
  const cases: [title: string, needs: FieldNeed[], kept: object][] = [
    ['what the runtime needs, of a kind that is read for its metadata', [{ paths: [] }], base],
    [
      'declared paths, through lists too',
      [{ paths: ['status.phase', 'spec.containers.image', 'spec.gone'] }],
      { ...base, spec: { containers: [{ image: 'i' }] }, status: { phase: 'Running' } },
    ],
    [
      'the union of all declarations: the longer path is part of the shorter',
      [{ paths: ['status.phase'] }, { paths: ['status'] }, { paths: ['status.conditions.type'] }],
      { ...base, status: pod.status },
    ],
    [
      'all annotations, kubectl’s copy of the object excepted',
      [{ paths: ['metadata.annotations'] }],
      {
        ...base,
        metadata: {
          ...metadata,
          annotations: { ...annotations, 'capstan.dev/applied': 'x', 'original.capstan.dev/i': 'y' },
        },
      },
    ],
    [
      'annotations of others that are named',
      [{ paths: ['metadata.annotations[example.com/two]'] }],
      { ...base, metadata: { ...metadata, annotations: { ...metadata.annotations, 'example.com/two': '2' } } },
    ],
    [
      'the fields of objects with the labels that a reader looks at',
      [
        { paths: ['status'], labels: { matchLabels: { app: 'web' } } },
        { paths: ['spec'], labels: { matchLabels: { app: 'db' } } },
      ],
      { ...base, status: pod.status },
    ],
    [
      'the identity alone of objects that no reader looks at',
      [{ paths: ['status'], labels: { matchLabels: { app: 'db' } } }],
      { apiVersion: 'v1', kind: 'Pod', metadata: identity },
    ],
  ];
  for (const [title, needs, expected] of cases) test(title, () => assert.deepEqual(keep(needs), expected));

  test('everything, and the object itself, where one reader needs all of it', () => {
    assert.equal(keep([{ paths: ['status'] }, { labels: { matchLabels: { app: 'web' } } }]), pod);
  });

  test('our own children as their reader declares, whatever labels it looks at', () => {
    const child = { ...pod, metadata: { ...pod.metadata, labels: { 'capstan.dev/inventory': 'i' } } };
    const filter = createFieldFilter([{ paths: ['status'], labels: { matchLabels: { app: 'db' } } }]);
    assert.deepEqual(filter(child).status, pod.status);
  });
});

test('reading a field that no reader declares throws in tests, and copies do without it', () => {
  const guarded = createFieldFilter([{ paths: ['status.phase', 'spec.containers.image'] }], { guard: true })(pod);
  const { status, spec } = guarded as unknown as {
    status: { phase: string; conditions: unknown };
    spec: { containers: { env: unknown }[] };
  };
  assert.equal(status.phase, 'Running');
  assert.throws(
    () => status.conditions,
    /status\.conditions of Pod n\/a is read, which no reader of its kind declares.*add the path to `fields`/,
  );
  assert.throws(() => spec.containers[0]?.env, /spec\.containers\.env/);
  assert.equal(
    (guarded as unknown as Record<string, unknown>)['data'],
    undefined,
    'what the object does not have is absent',
  );
  assert.deepEqual(structuredClone({ ...status }), { phase: 'Running' });
  assert.equal(JSON.stringify(status), '{"phase":"Running"}');
});
