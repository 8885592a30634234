import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { effectsOf, planGraph, shortValue } from './plan-effects.ts';

const write = (object: string, verb: string, more: object = {}) => ({
  level: 1,
  by: 'kroxylicious.kafka-proxy',
  for: 'KafkaProxy default/p',
  verb,
  object,
  changes: [],
  ...more,
});
const report = {
  given: [{ verb: 'change', object: 'KafkaService default/up', changes: [{ path: 'spec.a', before: 1, after: 2 }] }],
  writes: [
    write('KafkaProxy default/p', 'status'),
    write('ConfigMap default/new', 'apply', { creates: true }),
    write('Deployment default/p', 'apply', { disturbs: 'rolls pods' }),
    write('ConfigMap default/old', 'delete'),
  ],
};

describe('effects of a plan', () => {
  it('are ordered by disturbance, with statuses apart', () => {
    const { list, statuses, created, changed, deleted, disturbed } = effectsOf(report);
    assert.deepEqual(
      list.map(({ kind, object }) => `${kind} ${object}`),
      [
        'delete ConfigMap default/old',
        'disturb Deployment default/p',
        'change KafkaService default/up',
        'create ConfigMap default/new',
      ],
    );
    assert.equal(statuses.length, 1);
    assert.deepEqual({ created, changed, deleted, disturbed }, { created: 1, changed: 2, deleted: 1, disturbed: 1 });
  });

  it('lead in the graph from the manifests over the computed objects to the written ones', () => {
    const { nodes, edges } = planGraph(report);
    assert.deepEqual(Object.fromEntries(nodes.map(({ id, layer }) => [id, layer])), {
      'KafkaService default/up': 0,
      'KafkaProxy default/p': 1,
      'ConfigMap default/new': 2,
      'Deployment default/p': 2,
      'ConfigMap default/old': 2,
    });
    assert.equal(edges.length, 4);
  });
});

describe('shortValue', () => {
  it('keeps both ends of a long value', () => {
    assert.equal(shortValue(undefined), undefined);
    assert.equal(shortValue({ a: 1 }), '{"a":1}');
    assert.match(shortValue('x'.repeat(200)) ?? '', /^x{45}…x{30}$/);
  });
});
