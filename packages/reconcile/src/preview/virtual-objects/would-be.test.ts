import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Deployment, type KubeObject } from '@capstan/kube';
import type { ChildWrite } from '../../diff/index.ts';
import { disturbanceOf } from '../disturbance.ts';
import { virtuallyApplied, virtuallyDeleted } from './virtual.ts';
import { wouldBe } from './would-be.ts';

type Thing = KubeObject & { spec?: { size: number }; status?: unknown };

const metadata = { namespace: 'default', name: 'a' };
const cached: Thing = {
  apiVersion: 'test.dev/v1',
  kind: 'Thing',
  metadata: {
    ...metadata,
    uid: 'u',
    generation: 4,
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['capstan.dev/test'],
    annotations: { 'capstan.dev/memory': 'x', own: '1' },
  },
  spec: { size: 1 },
  status: { ready: true },
};
const manifest: Thing = { apiVersion: 'test.dev/v1', kind: 'Thing', metadata, spec: { size: 2 } };

describe('an object as it would be', () => {
  test('has the next generation when its content differs, without help of the caller', () => {
    assert.equal(wouldBe(cached, { ...cached, spec: { size: 2 } } as Thing).metadata.generation, 5);
    assert.equal(wouldBe(cached, { ...cached }).metadata.generation, 4);
    const labelled = { ...cached, metadata: { ...cached.metadata, labels: { a: 'b' } } };
    assert.equal(wouldBe(cached, labelled).metadata.generation, 4, 'metadata do not count');
  });

  test('keeps a generation that a dry run has raised', () => {
    const dry = { ...cached, metadata: { ...cached.metadata, generation: 9 }, spec: { size: 2 } } as Thing;
    assert.equal(wouldBe(cached, dry).metadata.generation, 9);
  });

  test('an object of a kind without generation has none', () => {
    const { generation: _generation, ...without } = cached.metadata;
    const data = { apiVersion: 'v1', kind: 'ConfigMap', metadata: without, data: { a: '1' } };
    assert.equal(wouldBe(data, { ...data, data: { a: '2' } } as KubeObject).metadata.generation, undefined);
  });

  test('an absent object gets a uid and the first generation', () => {
    const { uid, generation } = wouldBe(undefined, manifest).metadata;
    assert.ok(uid);
    assert.equal(generation, 1);
  });

  test('a manifest keeps the notes of the server and the runtime, and drops the fields that it leaves out', () => {
    const next: Thing = wouldBe(cached, manifest);
    assert.deepEqual(next.metadata, {
      ...cached.metadata,
      generation: 5,
      annotations: { 'capstan.dev/memory': 'x' },
    });
    assert.deepEqual(next.status, { ready: true });
    assert.deepEqual(next.spec, { size: 2 });
  });

  test('a whole object drops the finalizers that it leaves out', () => {
    const { finalizers: _finalizers, ...released } = cached.metadata;
    assert.equal(wouldBe(cached, { ...cached, metadata: released }).metadata.finalizers, undefined);
  });
});

test('a deleted object that finalizers hold stays, and one that nothing holds is gone', () => {
  assert.ok(virtuallyDeleted(cached, '2026-01-01T00:00:00Z')?.metadata.deletionTimestamp);
  assert.equal(
    virtuallyDeleted({ ...cached, metadata: { ...cached.metadata, finalizers: [] } }, '2026-01-01T00:00:00Z'),
    undefined,
  );
});

describe('a write to a workload', () => {
  const sized = (replicas: number | undefined, image = 'a'): KubeObject =>
    ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { ...(replicas !== undefined && { replicas }), template: { spec: { containers: [{ name: 'a', image }] } } },
    }) as KubeObject;
  const patch = { verb: 'patch', kind: Deployment, ref: metadata } as unknown as ChildWrite;
  const remove = { ...patch, verb: 'delete' } as ChildWrite;
  const cases: [string, ChildWrite, KubeObject | undefined, KubeObject | undefined, string | undefined][] = [
    ['that scales to 0 stops pods', patch, sized(2), sized(0), 'stops pods'],
    ['that scales from the default to 0 stops pods', patch, sized(undefined), sized(0), 'stops pods'],
    ['that scales to 0 with another template stops pods', patch, sized(2), sized(0, 'b'), 'stops pods'],
    ['that scales down stops pods', patch, sized(3), sized(1), 'stops pods'],
    ['that scales up starts pods', patch, sized(1), sized(3), 'starts pods'],
    ['that scales from 0 starts pods', patch, sized(0), sized(1, 'b'), 'starts pods'],
    ['with another template rolls pods', patch, sized(2), sized(2, 'b'), 'rolls pods'],
    ['with another template at 0 replicas disturbs nothing', patch, sized(0), sized(0, 'b'), undefined],
    ['that changes neither disturbs nothing', patch, sized(2), { ...sized(2) }, undefined],
    ['that deletes it stops pods', remove, sized(2), undefined, 'stops pods'],
    ['that deletes one with 0 replicas disturbs nothing', remove, sized(0), undefined, undefined],
    ['that creates it starts pods', patch, undefined, sized(1), 'starts pods'],
    ['that creates it with 0 replicas disturbs nothing', patch, undefined, sized(0), undefined],
  ];
  for (const [name, write, before, after, expected] of cases)
    test(name, () => assert.equal(disturbanceOf(write, before, after), expected));
});

test('a write of labels alone keeps the generation, and one of the content raises it', () => {
  const existing = { apiVersion: 'v1', kind: 'Any', metadata: { name: 'a', generation: 3 }, spec: { a: 1 } };
  const after = (body: object) =>
    virtuallyApplied(existing, { ...existing, metadata: { name: 'a' }, ...body }, 'capstan.test').metadata;
  assert.equal(after({ metadata: { name: 'a', labels: { b: 'c' } } }).generation, 3);
  assert.equal(after({ spec: { a: 2 } }).generation, 4);
});
