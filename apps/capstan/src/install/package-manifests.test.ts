import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, Secret } from '@capstan/kube';
import { operator, plan, reading, reconciler } from '@capstan/reconcile';
import { helmChart, kustomizeBase } from './package-manifests.ts';

const certificates = operator({
  name: 'certificates',
  kinds: [],
  reconcilers: [
    reconciler({
      name: 'maps',
      resource: ConfigMap,
      reads: [reading(Secret, 'referenced', { namespaces: ['certs'] })],
      reconcile: () => plan(),
    }),
  ],
});
const options = { operators: [certificates], version: '1.0.0', description: 'An operator of a test.' };

test('the chart brings the namespace of a Role where it is missing, and keeps it', () => {
  const text = helmChart(options).get('templates/certificates.yaml') ?? '';
  assert.match(
    text,
    /\{\{- if not \(lookup "v1" "Namespace" "" "certs"\) \}\}\n---\napiVersion: v1\nkind: Namespace\n/,
  );
  assert.match(text, /helm\.sh\/resource-policy: keep/);
  assert.match(text, /kind: Role\nmetadata:\n {2}name: capstan-certificates\n {2}namespace: certs/);
});

test('the base for kustomize brings it with its operator, and no namespace of the installation a second time', () => {
  const text = kustomizeBase(options).get('certificates/objects.yaml') ?? '';
  const namespaces = [...text.matchAll(/kind: Namespace\nmetadata:\n {2}name: (\S+)/g)].map(([, name]) => name);
  assert.deepEqual(namespaces, ['certs']);
});
