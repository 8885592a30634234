import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, defineKind, object, string } from '@capstan/kube';
import { apply, operator, plan, reconciler } from '@capstan/reconcile';
import { parseAllDocuments } from 'yaml';
import { runTest } from '../../src/cli/test-io.test-support.ts';

const Site = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({ image: string() }),
});
const site = reconciler({
  name: 'site',
  resource: Site,
  writes: [ConfigMap],
  reconcile: ({ object: { metadata } }) =>
    plan({
      children: [apply(ConfigMap, { metadata: { name: metadata.name ?? '', namespace: metadata.namespace ?? '' } })],
    }),
});
const modules = { '/home/user/s.ts': { default: operator({ name: 'sites', kinds: [Site], reconcilers: [site] }) } };

interface Printed {
  kind: string;
  metadata: { name: string; namespace?: string };
}

async function printed(...argv: string[]): Promise<Printed[]> {
  const { code, out, err } = await runTest([...argv, '--operator', 's.ts'], { modules });
  assert.equal(err, '');
  assert.equal(code, 0);
  if (argv.includes('json')) return (JSON.parse(out) as { items: Printed[] }).items;
  const documents = parseAllDocuments(out);
  assert.ok(Array.isArray(documents));
  return documents.map((document) => document.toJS() as Printed);
}

describe('manifests', () => {
  test('capstan crds prints each CRD as a document that is the manifest itself', async () => {
    assert.deepEqual(await printed('crds'), [Site.crd()]);
    assert.deepEqual(await printed('crds', '-o', 'json'), [Site.crd()]);
  });

  test('capstan rbac prints an account with a ClusterRole, a Role where its Lease is, and the policy of its writes', async () => {
    const all = await printed('rbac', '--namespace', 'here');
    const names = all.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? '*'}`);
    assert.deepEqual(names, [
      'ServiceAccount here',
      'ClusterRole *',
      'ClusterRoleBinding *',
      'Role capstan-system',
      'RoleBinding capstan-system',
      'ValidatingAdmissionPolicy *',
      'ValidatingAdmissionPolicyBinding *',
    ]);
    assert.deepEqual(await printed('rbac', '--namespace', 'here', '-o', 'json'), all);
  });

  test('capstan rbac --explain lists the rules that permit more than is needed, with the reason', async () => {
    const { code, out } = await runTest(['rbac', '--explain', '--operator', 's.ts'], { modules });
    assert.equal(code, 0);
    assert.match(out, /^sites: \d+ rules could not be narrowed\nRESOURCE +VERBS +WHERE +BECAUSE OF\n/);
    assert.match(out, /^configmaps +get,list,watch,create,patch,delete +everywhere +namespaces, new names, owners$/m);
    assert.match(out, /^new names +the name of a new object is not known/m);
    const found = JSON.parse(
      (await runTest(['rbac', '--explain', '-o', 'json', '--operator', 's.ts'], { modules })).out,
    ) as {
      operators: { name: string; wide: { resource: string; reason: string }[] }[];
    };
    const reasons = found.operators[0]?.wide.filter(({ resource }) => resource === 'configmaps');
    assert.deepEqual(
      reasons?.map(({ reason }) => reason),
      ['AnyNamespace', 'CreatedNames', 'OwnObjectsOnly'],
    );
    const restricted = await runTest(['rbac', '--explain', '--watch-namespaces', 'a', '--operator', 's.ts'], {
      modules,
    });
    assert.doesNotMatch(restricted.out, /any namespace/);
  });

  test('capstan rbac restricted to namespaces prints Roles there, and nothing for the whole cluster', async () => {
    const all = await printed(
      'rbac',
      '-n',
      'here',
      '--watch-namespaces',
      'a, b',
      '--leader-elect-resource-namespace',
      'here',
    );
    const roles = all.filter(({ kind }) => kind === 'Role').map(({ metadata }) => metadata.namespace);
    assert.deepEqual(roles, ['here', 'a', 'b']);
    assert.ok(all.every(({ kind }) => !kind.startsWith('Cluster')));
  });
});
