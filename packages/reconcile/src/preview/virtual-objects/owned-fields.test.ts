import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { withoutDropped } from './owned-fields.ts';

const port = 'k:{"containerPort":8080,"protocol":"TCP"}';
const existing = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    managedFields: [
      {
        manager: 'capstan.test.web',
        operation: 'Apply',
        fieldsV1: { 'f:spec': { 'f:ports': { [port]: { '.': {}, 'f:containerPort': {}, 'f:name': {} } } } },
      },
    ],
  },
  // The protocol is the server's default.
  spec: { ports: [{ containerPort: 8080, protocol: 'TCP', name: 'http' }] },
} as KubeObject & { spec: object };
const body = (...ports: object[]) => ({ ...existing, metadata: { name: 'web' }, spec: { ports } }) as KubeObject;
const left = (...ports: object[]) =>
  (withoutDropped(existing, body(...ports), 'capstan.test.web') as typeof existing).spec;

test('an item is known by the keys that were sent, and the server’s defaults of the others stay', () => {
  assert.deepEqual(left({ containerPort: 8080, name: 'http' }), existing.spec);
});

test('a field of an item that is no longer sent goes, and so does an item', () => {
  assert.deepEqual(left({ containerPort: 8080 }), { ports: [{ containerPort: 8080, protocol: 'TCP' }] });
  assert.deepEqual(left({ containerPort: 9090 }), { ports: [] });
  assert.deepEqual(left({ containerPort: 8080, protocol: 'UDP' }), { ports: [] });
});
