import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '@capstan/kube';
import { testServer } from '../../server.test-support.ts';

const PODS = '/api/v1/namespaces/default/pods';
const MERGE = { contentType: 'application/merge-patch+json' };
const GATES = [{ name: 'example.com/one' }, { name: 'example.com/two' }];

const affinity = (...keys: string[]) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: keys.map((key) => ({ key, operator: 'Exists' })) }],
    },
  },
});

async function given(more: object = {}) {
  const test = testServer();
  const spec = {
    containers: [{ name: 'main', image: 'a' }],
    nodeSelector: { a: 'b' },
    affinity: affinity('a'),
    ...more,
  };
  const made = await test.ok('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec });
  const change = async (part: object) => (await test.send('PATCH', `${PODS}/a`, { spec: part }, MERGE)).status;
  return { ...test, made: made as Pod, change };
}

describe('a pod with scheduling gates', () => {
  it('reports from the start that it is not scheduled', async () => {
    const { made } = await given({ schedulingGates: GATES });
    const [condition] = made.status?.conditions ?? [];
    assert.deepEqual(
      [condition?.type, condition?.status, condition?.reason, condition?.lastTransitionTime],
      ['PodScheduled', 'False', 'SchedulingGated', made.metadata.creationTimestamp],
    );
    assert.equal((await given()).made.status?.conditions, undefined);
  });

  it('loses gates and gets none', async () => {
    const { refused, change } = await given({ schedulingGates: GATES });
    const added = [...GATES, { name: 'example.com/three' }];
    const { message } = await refused('PATCH', `${PODS}/a`, { spec: { schedulingGates: added } }, MERGE);
    assert.match(
      message ?? '',
      /schedulingGates\[2\]\.name: Forbidden: only deletion is allowed, but found new scheduling gate 'example.com\/three'/,
    );
    assert.equal(await change({ schedulingGates: GATES.slice(1) }), 200);
    assert.equal(await change({ schedulingGates: null }), 200);
    assert.equal(await change({ schedulingGates: GATES }), 422);
  });

  it('can be narrowed to fewer nodes, until the last gate is gone', async () => {
    const { change } = await given({ schedulingGates: GATES });
    assert.equal(await change({ nodeSelector: { c: 'd' } }), 200);
    assert.equal(await change({ nodeSelector: { c: 'other' } }), 422);
    assert.equal(await change({ nodeSelector: null }), 422);
    assert.equal(await change({ affinity: affinity('a', 'b') }), 200);
    assert.equal(await change({ affinity: affinity('b') }), 422);
    assert.equal(await change({ affinity: null }), 422);
    assert.equal(await change({ affinity: { podAffinity: {} } }), 422);
    assert.equal(await change({ schedulingGates: null }), 200);
    assert.equal(await change({ nodeSelector: { e: 'f' } }), 422);
  });

  it('is bound to no node', async () => {
    const { refused, ok, change } = await given({ schedulingGates: GATES });
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'a' }, target: { kind: 'Node', name: 'n' } };
    const { code, message } = await refused('POST', `${PODS}/a/binding`, binding);
    assert.equal(code, 409);
    assert.match(message ?? '', /pod a has non-empty .spec.schedulingGates$/);
    await change({ schedulingGates: null });
    await ok('POST', `${PODS}/a/binding`, binding);
  });
});
