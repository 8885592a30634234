import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { problemsBySchema, type Schema, suggestionsAt } from './schema-help.ts';
import { outlineOf } from './yaml-outline.ts';

const schema: Schema = {
  type: 'object',
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { type: 'object' },
    spec: {
      type: 'object',
      required: ['bootstrapServers'],
      properties: {
        bootstrapServers: { type: 'string', description: 'Hosts and ports.' },
        protocol: { type: 'string', enum: ['TCP', 'TLS'] },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        nodeIdRanges: {
          type: 'array',
          items: {
            type: 'object',
            required: ['name', 'start', 'end'],
            properties: { name: { type: 'string' }, start: { type: 'integer', minimum: 0 }, end: { type: 'integer' } },
          },
        },
      },
    },
  },
};
const head = 'apiVersion: kroxylicious.io/v1alpha1\nkind: KafkaService\nmetadata:\n  name: up\n';

function problems(spec: string): string[] {
  const text = head + spec;
  const [document] = outlineOf(text);
  assert.ok(document !== undefined);
  return problemsBySchema(schema, document).map(({ from, to, message }) => `${text.slice(from, to)}: ${message}`);
}

function labels(spec: string): string[] {
  const text = head + spec.replace('|', '');
  const cursor = head.length + spec.indexOf('|');
  const from = text.lastIndexOf('\n', cursor - 1) + 1;
  const end = text.indexOf('\n', cursor);
  const [document] = outlineOf(text);
  assert.ok(document !== undefined);
  const line = { from, text: text.slice(from, end < 0 ? text.length : end), cursor: cursor - from };
  return suggestionsAt(schema, document, line)?.suggestions.map(({ label }) => label) ?? [];
}

describe('checks by schema', () => {
  it('accepts a valid manifest', () => {
    assert.deepEqual(
      problems(
        'spec:\n  bootstrapServers: a:1 # two\n  labels:\n    any: one\n  nodeIdRanges:\n  - name: n\n    start: 0\n    end: 2\n',
      ),
      [],
    );
  });

  it('names unknown fields, wrong types, wrong values and missing fields at their place', () => {
    assert.deepEqual(problems('spec:\n  bootstrapServer: a:1\n'), [
      'spec: spec needs the field bootstrapServers',
      'bootstrapServer: spec has no field bootstrapServer',
    ]);
    assert.deepEqual(problems('spec:\n  bootstrapServers: 12\n  protocol: UDP\n'), [
      '12: bootstrapServers must be a string: put it in quotes',
      'UDP: protocol must be one of TCP, TLS',
    ]);
    assert.deepEqual(
      problems('spec:\n  bootstrapServers: "12"\n  nodeIdRanges:\n    - name: n\n      start: -1\n      end: two\n'),
      ['-1: start must be 0 or more', 'two: end must be an integer'],
    );
  });
});

describe('suggestions', () => {
  it('are the fields that the object does not have yet, required ones first', () => {
    assert.deepEqual(labels('spec:\n  protocol: TCP\n  |'), ['bootstrapServers', 'labels', 'nodeIdRanges']);
    assert.deepEqual(labels('spec:\n  nodeIdRanges:\n  - name: n\n    s|\n'), ['start', 'end']);
    assert.deepEqual(labels('spec:\n  nodeIdRanges:\n    - |'), ['name', 'start', 'end']);
  });

  it('are the values of a field with fixed values', () => {
    assert.deepEqual(labels('spec:\n  protocol: T|'), ['TCP', 'TLS']);
  });
});
