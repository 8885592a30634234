// Installations that cannot work, on a real control plane: a clear message, nothing broken, and the same command works once the cause is
// gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ClusterRole,
  ClusterRoleBinding,
  ConfigMap,
  CustomResourceDefinition,
  Deployment,
  externalKind,
  type KubeObject,
  Namespace,
} from '@capstan/kube';
import { findBinaries } from '@capstan/testing';
import { run, SYSTEM, startRealInstallation, until } from './real-installation.ts';

const binaries = findBinaries();
const skip = 'missing' in binaries ? binaries.missing : false;
const OPERATORS = ['--operators', 'kroxylicious'];
const ResourceQuota = externalKind<KubeObject & { readonly status?: { readonly hard?: object } }>({
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  scope: 'Namespaced',
  hasStatus: true,
});
const RUNNING = { namespace: SYSTEM, name: 'capstan-kroxylicious' };

test('an installation that cannot work names the reason, breaks nothing, and can be repeated', { skip }, async (t) => {
  const { real, program, capstan, kubectl, readyOf, close } = await startRealInstallation({ unknownImagesFail: true });
  t.after(close);
  const { client } = real;

  await t.test('an account that may not grant what operators need: the rule that is missing is named', async () => {
    const kubeconfig = await real.kubeconfigOf({ name: 'installer' });
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'installer' }];
    const grant = async (name: string, rules: object[]) => {
      await client.create(ClusterRole, object(ClusterRole, { name }, { rules }));
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
      await client.create(ClusterRoleBinding, object(ClusterRoleBinding, { name }, { roleRef, subjects }));
    };
    const install = () => run(process.execPath, [program, 'install', ...OPERATORS, '--timeout', '20s'], kubeconfig);
    const nothing = await install();
    assert.equal(nothing.code, 1);
    assert.match(
      nothing.err,
      /User "installer" cannot list resource "deployments" in API group "apps" at the cluster scope/,
    );
    // All but the operators' own rights.
    const verbs = ['get', 'list', 'create', 'patch', 'update'];
    await grant('installer', [
      { apiGroups: ['', 'apps', 'policy', 'networking.k8s.io'], resources: ['*'], verbs },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs },
      { apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'], verbs },
    ]);
    const escalating = await answered(install, ({ err }) =>
      /ClusterRole capstan-kroxylicious cannot be applied/.test(err),
    );
    assert.equal(escalating.code, 1);
    assert.match(escalating.err, /attempting to grant RBAC permissions not currently held/);
    assert.match(escalating.err, /APIGroups:\["kroxylicious\.io"\]/);
    assert.match(escalating.err, /-o yaml for an administrator/);
    assert.equal(await client.find(Deployment, RUNNING), undefined);
  });

  await t.test('a namespace that is being deleted', async () => {
    const finalizers = ['example.com/hold'];
    const held = { namespace: SYSTEM, name: 'held' };
    await client.create(ConfigMap, object(ConfigMap, { ...held, finalizers }));
    await client.delete(Namespace, { name: SYSTEM });
    const refused = await capstan('install', ...OPERATORS);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /the namespace capstan-system is being deleted; wait until it is deleted/);
    await client.patch(ConfigMap, held, 'merge', { metadata: { finalizers: null } });
    await until(async () => (await client.find(Namespace, { name: SYSTEM })) === undefined, 'the namespace is gone');
  });

  await t.test('a quota that leaves no room for a pod', async () => {
    await kubectl('create', 'namespace', SYSTEM);
    const quota = { namespace: SYSTEM, name: 'small' };
    await client.create(ResourceQuota, object(ResourceQuota, quota, { spec: { hard: { pods: '1' } } }));
    await until(
      async () => (await client.get(ResourceQuota, quota)).status?.hard !== undefined,
      'the quota is in force',
    );
    const refused = await capstan('install', ...OPERATORS, '--timeout', '15s');
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      /the operator kroxylicious did not become ready: .*exceeded quota: small, requested: pods=1/,
    );
    await client.delete(ResourceQuota, quota);
  });

  await t.test('an image that cannot be pulled', async () => {
    const refused = await capstan(
      'install',
      ...OPERATORS,
      '--image',
      'registry.example.com/none:1',
      '--timeout',
      '15s',
    );
    assert.equal(refused.code, 1);
    assert.match(refused.err, /waits: ImagePullBackOff: .*registry\.example\.com\/none:1/);
  });

  await t.test('the same command works once the causes are gone', async () => {
    const installed = await capstan('install', ...OPERATORS, '--timeout', '120s');
    assert.equal(installed.code, 0, installed.err);
    assert.equal(await readyOf('kroxylicious'), 2);
  });

  await t.test('a second installation in another namespace', async () => {
    const refused = await capstan('install', ...OPERATORS, '-n', 'elsewhere');
    assert.equal(refused.code, 1);
    assert.match(refused.err, /already installed in this cluster, in the namespace capstan-system/);
    assert.equal(await client.find(Namespace, { name: 'elsewhere' }), undefined, 'nothing is begun');
  });

  await t.test('a definition that is missing: the operator names it, and goes on when it is back', async () => {
    const name = 'kafkaproxies.kroxylicious.io';
    await client.delete(CustomResourceDefinition, { name });
    await until(async () => (await client.find(CustomResourceDefinition, { name })) === undefined, 'it is gone');
    const ended = await run(
      process.execPath,
      [program, 'run', ...OPERATORS, '--leader-elect=false'],
      real.kubeconfigFile,
    );
    assert.equal(ended.code, 1);
    assert.match(ended.err, /the cluster does not serve KafkaProxy\.kroxylicious\.io; run again with --install-crds/);
    const repaired = await capstan('install', ...OPERATORS, '--timeout', '60s');
    assert.equal(repaired.code, 0, repaired.err);
    assert.notEqual(await client.find(CustomResourceDefinition, { name }), undefined);
  });

  /** The server needs a moment for new rights. */
  async function answered<T>(act: () => Promise<T>, holds: (result: T) => boolean): Promise<T> {
    let last = await act();
    await until(async () => {
      if (!holds(last)) last = await act();
      return holds(last);
    }, 'the answer that is expected');
    return last;
  }
});

function object(
  { apiVersion, kind }: { apiVersion: string; kind: string },
  metadata: KubeObject['metadata'],
  parts: object = {},
): KubeObject {
  return { apiVersion, kind, metadata, ...parts };
}
