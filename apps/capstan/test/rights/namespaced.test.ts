// An account with all rights in one namespace, and none at the cluster scope, installs the parts that work there on a real control plane.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { KafkaProxy } from '@capstan/kroxylicious';
import { Deployment, type Kind, Lease, Namespace, Role, RoleBinding, Secret, ServiceAccount } from '@capstan/kube';
import { findBinaries } from '@capstan/testing';
import { run, startRealInstallation, until } from '../real-installation.ts';

const binaries = findBinaries();
const skip = 'missing' in binaries ? binaries.missing : false;
const namespace = 'team';
const CHOSEN = ['--operators', 'kroxylicious,crossplane'];

test('install --namespaced installs what works with Roles, and names the rest', { skip }, async (t) => {
  const { real, program, kubectl, close } = await startRealInstallation();
  t.after(close);
  const { client } = real;
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const kubeconfig = await real.kubeconfigOf({ name: 'developer' });
  await client.create(RoleBinding, {
    apiVersion: RoleBinding.apiVersion,
    kind: RoleBinding.kind,
    metadata: { namespace, name: 'developer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'developer' }],
  });
  const capstan = (...argv: string[]) => run(process.execPath, [program, ...argv, ...CHOSEN], kubeconfig);

  const undefinedKinds = await capstan('install', '--namespaced', '-n', namespace);
  assert.equal(undefinedKinds.code, 1);
  assert.match(undefinedKinds.err, /crossplane is left out: all of it needs ClusterRoles/);
  assert.match(
    undefinedKinds.err,
    /the cluster has no definition of Kafka[^]*ask an administrator to run: capstan crds --operators kroxylicious \| kubectl apply --server-side -f -/,
  );
  assert.equal((await client.list(Deployment, { namespace })).items.length, 0, 'nothing is begun');

  const crds = await run(process.execPath, [program, 'crds', '--operators', 'kroxylicious'], real.kubeconfigFile);
  await kubectl('apply', '--server-side', '-f', await fileOf(crds.out));
  await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s');

  const wide = await run(process.execPath, [program, 'install', ...CHOSEN], kubeconfig);
  assert.equal(wide.code, 1, 'without the flag it is refused');
  const installed = await capstan('install', '--namespaced', '-n', namespace, '--timeout', '120s');
  assert.equal(installed.code, 0, installed.err);
  assert.match(installed.err, /kroxylicious: sidecar-webhook does not work, because it needs ClusterRoles/);
  assert.match(installed.err, /crossplane is left out/);
  assert.match(installed.out, /Next: capstan status -n team/);
  await client.create(KafkaProxy, {
    apiVersion: KafkaProxy.apiVersion,
    kind: KafkaProxy.kind,
    metadata: { namespace, name: 'proxy' },
    spec: { isolation: 'Proxy', replicas: 1 },
  });
  await until(
    async () => (await client.get(KafkaProxy, { namespace, name: 'proxy' })).status?.conditions !== undefined,
    'the operator serves the namespace',
  );
  assert.ok(await client.find(Lease, { namespace, name: 'capstan-kroxylicious' }));

  const again = await capstan('install', '--namespaced', '-n', namespace, '--timeout', '120s');
  assert.equal(again.code, 0, again.err);
  const removed = await capstan('uninstall', '--namespaced', '-n', namespace, '--delete-objects', '--timeout', '60s');
  assert.equal(removed.code, 0, removed.err);
  const names = async (kind: Kind) =>
    (await client.list(kind, { namespace })).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(await names(Role), []);
  assert.deepEqual(await names(ServiceAccount), ['default']);
  assert.deepEqual(await names(Lease), []);
  assert.deepEqual(await names(Secret), []);
  assert.deepEqual(await names(Deployment), []);

  async function fileOf(text: string): Promise<string> {
    const path = join(real.kubeconfigFile, '..', 'crds.yaml');
    await writeFile(path, text);
    return path;
  }
});
