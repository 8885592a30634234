import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterRole, ConfigMap, Namespace, Pod, Secret, Service } from '@capstan/kube';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { type ReconcilerDefinition, reading, reconciler, writing } from '../reconciler.ts';
import { wideRulesOf } from './excess.ts';

/** `verbs resource (where): reason` of each rule that permits more than is declared, but for those of the runtime. */
function wide(definition: Partial<ReconcilerDefinition<ConfigMap>>): string[] {
  const one = reconciler<ConfigMap>({ name: 'maps', resource: ConfigMap, reconcile: () => plan(), ...definition });
  return wideRulesOf(operator({ name: 'maps', kinds: [], reconcilers: [one] }))
    .filter(({ neededBy, resource }) => !neededBy.includes('runtime') && resource !== 'configmaps')
    .map(({ verbs, resource, place, reason }) => `${verbs.join()} ${resource} (${place}): ${reason}`);
}

test('each read that RBAC cannot narrow is reported with the reason', () => {
  const within = { namespaces: ['certs'] };
  const reads = [
    reading(Secret, 'referenced', within),
    reading(Service, 'everywhere', { ...within, fields: ['metadata.name', 'metadata.annotations[a]'] }),
    reading(Pod, 'owned', within),
    reading(Namespace, 'everywhere', { fields: ['status.phase'] }),
  ];
  assert.deepEqual(wide({ reads }), [
    'list,watch namespaces (cluster): FieldsOnly',
    'list,watch pods (certs): SelectedByLabel',
    'list,watch secrets (certs): MetadataOnly',
    'get secrets (certs): ReferencedNames',
    'list,watch services (certs): MetadataOnly',
  ]);
});

test('a read of whole objects at the cluster scope is as narrow as it was declared', () => {
  assert.deepEqual(wide({ reads: [Namespace] }), []);
});

test('each write that RBAC cannot narrow is reported, and roles that only a bound limits come first', () => {
  const grants = { cluster: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }] };
  const writes = [
    writing(Namespace, 'patch'),
    writing(ClusterRole, 'apply', { prunes: false, bound: { role: 'most' }, grants }),
  ];
  assert.deepEqual(
    wide({ writes, finalizer: false }).filter((line) => !line.startsWith('update configmaps')),
    [
      'create,patch clusterroles (cluster): Bounded',
      'patch namespaces (cluster): PatchedFields',
      'list nodes (cluster): GrantedToOthers',
      'create clusterroles (cluster): CreatedNames',
      'patch clusterroles (cluster): OwnObjectsOnly',
    ],
  );
});

test('a right in all namespaces is reported, unless namespaces are named', () => {
  assert.deepEqual(wide({ reads: [Pod] }), ['list,watch pods (everywhere): AnyNamespace']);
  assert.deepEqual(wide({ reads: [reading(Pod, 'inNamespace')] }), []);
});
