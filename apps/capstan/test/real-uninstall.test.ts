// All five operators are removed without a trace from a real control plane, however they came: by the command line, by the chart, by
// kustomize; also where an attempt ended in the middle.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  Deployment,
  type Kind,
  type KubeObject,
  Namespace,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '@capstan/kube';
import { findBinaries } from '@capstan/testing';
import { type Files, helmChart, kustomizeBase } from '../src/install/package-manifests.ts';
import { BUILT_IN_OPERATORS } from '../src/operators.ts';
import { VERSION } from '../src/version.ts';
import { type RealInstallation, run, SYSTEM, startRealInstallation, until } from './real-installation.ts';

const HELM = join(process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache/capstan/real'), 'helm/helm');
const binaries = findBinaries();
const skip =
  'missing' in binaries ? binaries.missing : existsSync(HELM) ? false : 'helm is not there: npm run setup:real -- helm';
const OPERATORS = ['crossplane', 'gimbal', 'kroxylicious', 'sesame', 'submariner'];
const ROOT = join(import.meta.dirname, '../../..');
/** Objects of users of every operator: some hold finalizers, some own others. */
const OBJECTS = ['operators/kroxylicious/demo', 'operators/sesame/demo/ingress.yaml'].map((folder) =>
  join(ROOT, folder),
);
const MORE = `
apiVersion: projectsesame.io/v1
kind: HTTPProxy
metadata: { name: store, namespace: default }
spec: { virtualhost: { fqdn: store.test }, routes: [{ services: [{ name: store, port: 80 }] }] }
---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata: { name: never-installed }
spec: { package: "registry.invalid/team/provider:v1" }
---
apiVersion: submariner.io/v1alpha1
kind: Broker
metadata: { name: submariner-broker, namespace: default }
spec: {}
---
apiVersion: gimbal.heptio.com/v1
kind: DiscoveryBackend
metadata: { name: nowhere, namespace: default }
spec: { type: kubernetes, secret: missing }
`;

describe('an uninstallation of all operators on a real control plane', { skip }, () => {
  let installation: RealInstallation;
  before(async () => {
    installation = await startRealInstallation();
    const { folder } = installation;
    const operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
    const options = { operators, version: VERSION, description: 'test' };
    write(join(folder, 'chart'), helmChart(options));
    write(join(folder, 'base'), kustomizeBase(options));
    writeFileSync(join(folder, 'more.yaml'), MORE);
  });
  after(() => installation?.close());

  /** Every operator is ready and has objects to work on. */
  const inUse = async () => {
    const { kubectl, readyOf, folder, real } = installation;
    for (const operator of OPERATORS)
      await until(async () => (await readyOf(operator)) > 0, `${operator} is ready`).catch((error: unknown) => {
        throw new Error(lastLogs(join(folder, 'node')), { cause: error });
      });
    const manifests = [join(folder, 'more.yaml'), ...OBJECTS];
    for (const path of manifests) await kubectl('apply', '-f', path);
    const proxy = { namespace: 'default', name: 'my-proxy' };
    await until(async () => (await real.client.find(Deployment, proxy)) !== undefined, 'the Deployment of the proxy');
  };
  const names = async (kind: Kind, isOurs: (name: string) => boolean): Promise<string[]> => {
    const { items } = await installation.real.client.list(kind);
    return items.map(({ metadata }: KubeObject) => metadata.name ?? '').filter(isOurs);
  };
  const GROUPS = /\.(?:projectsesame\.io|submariner\.io|kroxylicious\.io|gimbal\.heptio\.com|crossplane\.io)$/;
  const isOurs = (name: string) => /^(?:capstan|crossplane|submariner|sesame|gimbal|kroxylicious)/.test(name);
  const withoutATrace = async (namespaces: readonly string[]) => {
    const left = async () => [
      ...(await names(CustomResourceDefinition, (name) => GROUPS.test(name))),
      ...(await names(ClusterRole, isOurs)),
      ...(await names(ClusterRoleBinding, isOurs)),
      ...(await names(ValidatingWebhookConfiguration, isOurs)),
      ...(await names(ValidatingAdmissionPolicy, isOurs)),
      ...(await names(ValidatingAdmissionPolicyBinding, isOurs)),
      ...(await names(Namespace, (name) => namespaces.includes(name))),
    ];
    await until(async () => (await left()).length === 0, `nothing is left: ${(await left()).join(', ')}`);
  };
  const uninstall = (...flags: string[]) =>
    installation.capstan('uninstall', '--delete-objects', '--timeout', '120s', ...flags);

  test('ends after capstan install, also when it was killed in the middle', { timeout: 400_000 }, async () => {
    const { capstan, program, real } = installation;
    const installed = await capstan('install', '--replicas', '1', '--timeout', '200s');
    assert.equal(installed.code, 0, installed.err);
    await inUse();
    const refused = await capstan('uninstall');
    assert.equal(refused.code, 1);
    assert.match(refused.err, /1 KafkaProxy\.kroxylicious\.io/);
    assert.doesNotMatch(refused.err, /Lock|DeploymentRuntimeConfig/);
    const listed = await uninstall('--dry-run');
    for (const line of [
      'KafkaProxy.kroxylicious.io default/my-proxy',
      'Lock.pkg.crossplane.io lock',
      'DeploymentRuntimeConfig.pkg.crossplane.io default',
      `Deployment.apps ${SYSTEM}/capstan-sesame`,
      'ValidatingAdmissionPolicy.admissionregistration.k8s.io capstan-sesame-secrets',
      `Namespace ${SYSTEM}, if nothing else is in it`,
    ])
      assert.ok(listed.out.includes(`${line}\n`), `${line} is not in\n${listed.out}${listed.err}`);
    assert.ok(await real.client.find(Deployment, { namespace: SYSTEM, name: 'capstan-sesame' }), 'nothing is removed');

    const env = { ...process.env, KUBECONFIG: real.kubeconfigFile };
    const killed = spawn(process.execPath, [program, 'uninstall', '--delete-objects'], { env, stdio: 'ignore' });
    const deployments = async () => (await real.client.list(Deployment, { namespace: SYSTEM })).items;
    await until(async () => (await deployments()).length < OPERATORS.length, 'the first operator is gone');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    const removed = await uninstall();
    assert.equal(removed.code, 0, removed.err);
    await withoutATrace([SYSTEM, 'crossplane-system']);
    const again = await uninstall();
    assert.equal(again.code, 0, again.err);
  });

  test('ends after the chart, whose release was removed first', { timeout: 400_000 }, async () => {
    const { folder, real } = installation;
    const helm = async (...args: string[]) => {
      const ended = await run(HELM, [...args, '-n', SYSTEM], real.kubeconfigFile);
      assert.equal(ended.code, 0, ended.err);
    };
    await helm('install', 'capstan', join(folder, 'chart'), '--create-namespace', '--set', 'replicas=1');
    await inUse();
    await helm('uninstall', 'capstan', '--wait');
    const removed = await uninstall();
    assert.equal(removed.code, 0, removed.err);
    await withoutATrace([]);
    // Helm made these namespaces, and `capstan install` did not.
    for (const name of [SYSTEM, 'crossplane-system']) await real.client.delete(Namespace, { name });
    await withoutATrace([SYSTEM, 'crossplane-system']);
  });

  test('ends after kustomize', { timeout: 400_000 }, async () => {
    const { folder, kubectl } = installation;
    await kubectl('apply', '--server-side', '-k', join(folder, 'base'));
    await inUse();
    const removed = await uninstall();
    assert.equal(removed.code, 0, removed.err);
    await kubectl('delete', '--ignore-not-found', '-k', join(folder, 'base'));
    await withoutATrace([SYSTEM, 'crossplane-system']);
  });
});

/** The last lines of the output of the pods. */
function lastLogs(folder: string): string {
  const files = globSync('**/*.log', { cwd: folder });
  return files.map((file) => `${file}:\n${readFileSync(join(folder, file), 'utf8').slice(-1000)}`).join('\n');
}

function write(folder: string, files: Files): void {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
