import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import kroxylicious, { KafkaProxy } from '@capstan/kroxylicious';
import {
  type Client,
  CustomResourceDefinition,
  createCa,
  Deployment,
  Lease,
  Namespace,
  Secret,
  systemClock,
  type Transport,
  ValidatingAdmissionPolicyBinding,
} from '@capstan/kube';
import { createRandom, createTestCluster } from '@capstan/testing';
import { runTest } from '../cli/test-io.test-support.ts';
import { applyInstallation } from '../install/apply.ts';
import { installationOf } from '../install/install-options.ts';
import { runChecks } from './run-checks.ts';

const NAMESPACE = 'capstan-system';
const { signal } = new AbortController();
const operators = [kroxylicious];

async function staged(
  work: (client: Client, found: (now?: number) => Promise<string[]>, transport: () => Transport) => Promise<void>,
): Promise<void> {
  const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1) });
  const { client } = cluster;
  const found = async (now = Date.now()) => {
    const { findings } = await runChecks({ client, operators, namespace: NAMESPACE, now, signal });
    return findings.map(({ check, state, message }) => `${check} ${state}: ${message}`);
  };
  try {
    await work(client, found, () => cluster.transport());
  } finally {
    await cluster.close();
  }
}

/** No pods run here: the test reports that they are ready, and that one of them leads. */
async function installed(client: Client): Promise<void> {
  const installation = installationOf(operators, { flags: {}, operatorFlags: {} }, undefined);
  const options = { client, clock: systemClock, installation, timeoutMs: 1, report() {}, signal };
  await assert.rejects(applyInstallation(options), /did not become ready/);
  const ref = { namespace: NAMESPACE, name: 'capstan-kroxylicious' };
  const { metadata } = await client.get(Deployment, ref);
  const counts = { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 };
  const status = { observedGeneration: metadata.generation, ...counts };
  await client.patch(Deployment, ref, 'merge', { status }, { subresource: 'status' });
  const now = new Date().toISOString().replace('Z', '000Z');
  const spec = { holderIdentity: 'one', renewTime: now, acquireTime: now, leaseDurationSeconds: 3600 };
  await client.create(Lease, { apiVersion: Lease.apiVersion, kind: Lease.kind, metadata: ref, spec });
}

const has = (lines: readonly string[], expected: RegExp) =>
  assert.ok(
    lines.some((line) => expected.test(line)),
    `${expected} is not in\n${lines.join('\n')}`,
  );

describe('capstan check', () => {
  test('names what is missing before an installation, and how to get it', () =>
    staged(async (_client, found) => {
      const lines = await found();
      has(lines, /^connection ok: the API server answers: Kubernetes v1\./);
      has(lines, /^definitions warning: none of the \d kinds is installed yet/);
      has(lines, /^installation warning: no operator is installed/);
      has(lines, /^rights ok: you may install Capstan/);
    }));

  test('names the instances that run without an installation, as those of capstan up do', () =>
    staged(async (client, found) => {
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
      const metadata = { namespace: NAMESPACE, name: 'capstan-kroxylicious' };
      const now = new Date().toISOString().replace('Z', '000Z');
      const spec = { holderIdentity: 'capstan-up', renewTime: now, acquireTime: now, leaseDurationSeconds: 3600 };
      await client.create(Lease, { apiVersion: Lease.apiVersion, kind: Lease.kind, metadata, spec });
      has(
        await found(),
        /^installation ok: .*started otherwise \(capstan up, capstan run\): kroxylicious \(capstan-up\)/,
      );
    }));

  test('finds nothing wrong with an installation that works', () =>
    staged(async (client, found) => {
      await installed(client);
      const lines = await found();
      assert.deepEqual(
        lines.filter((line) => !/^\w+ ok: /.test(line)),
        [],
      );
      for (const check of ['definitions', 'installation', 'skew', 'leases', 'certificates', 'finalizers', 'webhooks'])
        has(lines, new RegExp(`^${check} ok`));
    }));

  for (const [what, damage, expected] of [
    [
      'a Lease that is not renewed',
      (client: Client) =>
        client.patch(Lease, { namespace: NAMESPACE, name: 'capstan-kroxylicious' }, 'merge', {
          spec: { renewTime: '2020-01-01T00:00:00.000000Z' },
        }),
      /^leases problem: no instance writes for kroxylicious: .*has not renewed/,
    ],
    [
      'pods that are not ready',
      (client: Client) =>
        client.patch(
          Deployment,
          { namespace: NAMESPACE, name: 'capstan-kroxylicious' },
          'merge',
          { status: { readyReplicas: 0, availableReplicas: 0 } },
          { subresource: 'status' },
        ),
      /^installation problem: capstan-kroxylicious: 0 of 2 pods are ready/,
    ],
    [
      'an operator of another version',
      (client: Client) =>
        client.patch(Deployment, { namespace: NAMESPACE, name: 'capstan-kroxylicious' }, 'merge', {
          metadata: { labels: { 'app.kubernetes.io/version': '0.0.1' } },
        }),
      /^skew warning: of another version .*capstan-kroxylicious \(0\.0\.1\)/,
    ],
    [
      'an account without its admission policy',
      (client: Client) => client.delete(ValidatingAdmissionPolicyBinding, { name: 'capstan-kroxylicious-secrets' }),
      /^rights warning: no admission policy keeps kroxylicious from changing Secrets of others/,
    ],
    [
      'a definition that lacks a field',
      async (client: Client) => {
        const name = 'kafkaproxies.kroxylicious.io';
        const crd = structuredClone(await client.get(CustomResourceDefinition, { name }));
        for (const version of crd.spec.versions) delete version.schema?.openAPIV3Schema?.properties?.spec;
        await client.update(CustomResourceDefinition, crd);
      },
      /^definitions warning: the definitions of KafkaProxy\.kroxylicious\.io are those of another version/,
    ],
    [
      'an object that waits for a finalizer',
      async (client: Client) => {
        const ref = { namespace: 'default', name: 'held' };
        const metadata = { ...ref, finalizers: ['example.com/held'] };
        await client.create(KafkaProxy, {
          apiVersion: KafkaProxy.apiVersion,
          kind: KafkaProxy.kind,
          metadata,
          spec: { isolation: 'Proxy', replicas: 1 },
        });
        await client.delete(KafkaProxy, ref);
      },
      /^finalizers problem: KafkaProxy\.kroxylicious\.io default\/held is being deleted since .* example\.com\/held/,
    ],
  ] as const)
    test(`reports ${what}`, () =>
      staged(async (client, found) => {
        await installed(client);
        await damage(client);
        has(await found(Date.now() + 10 * 60_000), expected);
      }));

  test('reports a certificate that expires soon, and one that has expired', () =>
    staged(async (client, found) => {
      await installed(client);
      const metadata = { namespace: NAMESPACE, name: 'capstan-admission' };
      const at = Date.parse('2030-01-01T00:00:00Z');
      const { certificate } = await createCa({ commonName: 'test', notBefore: at - 90 * 24 * 3600_000, notAfter: at });
      const data = { 'tls.crt': Buffer.from(certificate).toString('base64') };
      await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data });
      has(
        await found(at - 3 * 24 * 3600_000),
        /^certificates warning: .*capstan-system\/capstan-admission expires at 2030/,
      );
      const later = await found(at + 1000);
      has(later, /^certificates problem: .* expired at 2030/);
      assert.doesNotMatch(later.join('\n'), /BEGIN CERTIFICATE|MII/);
    }));

  test('ends with 1 for a problem, prints the verdict first, and claims nothing about what it may not see', () =>
    staged(async (client, _found, transport) => {
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
      // Some definitions without the others are a problem, whether an operator is installed or not.
      await client.create(CustomResourceDefinition, KafkaProxy.crd());
      const real = transport();
      const body = {
        kind: 'Status',
        status: 'Failure',
        reason: 'Forbidden',
        code: 403,
        message: 'secrets is forbidden',
      };
      const refusing: Transport = {
        ...real,
        request: (request) =>
          request.path.includes('/secrets')
            ? Promise.resolve({ status: 403, headers: { 'content-type': 'application/json' }, body })
            : real.request(request),
      };
      const { code, out } = await runTest(['check', '--operators', 'kroxylicious'], { transport: () => refusing });
      assert.equal(code, 1, out);
      assert.match(out, /^1 problem\n/);
      assert.match(out, /^certificates +unknown +.*secrets is forbidden/m);
      assert.match(out, /^ +capstan install applies them; without it: capstan crds \| kubectl apply/m);
    }));
});
