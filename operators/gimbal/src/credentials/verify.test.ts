// Logins over real connections: to the embedded server over TLS, and to servers that only listen.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { type Cluster, startCluster } from '@capstan/apiserver';
import { type Client, createCa, createClient, Namespace, systemClock } from '@capstan/kube';
import prepare from '../../demo/prepare.ts';
import { expiryOf, tokenEnd } from './expiry.ts';
import { LoginError } from './verifier.ts';
import { createVerify } from './verify.ts';

const encoded = (text: string) => Buffer.from(text).toString('base64');
const never = new AbortController().signal;

describe('a login to a cluster', () => {
  let cluster: Cluster;
  let admin: Client;
  let kubeconfig = '';
  const verify = createVerify({ timeoutMs: 2000 });
  const login = (text: string, endpoint?: string) =>
    verify({ type: 'kubernetes', data: { config: encoded(text) }, endpoint }, never);
  const refusal = async (text: string, endpoint?: string) => {
    try {
      const verdict = await login(text, endpoint);
      return verdict.isGood ? 'good' : `SecretInvalid ${verdict.message}`;
    } catch (error) {
      assert.ok(error instanceof LoginError, String(error));
      return `${error.failure} ${error.message}`;
    }
  };

  before(async () => {
    cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0, clusters: ['east', 'west'] });
    const remotes = new Map(
      cluster.clusters.map(({ name, server, url }) => {
        const client = createClient({ transport: server.transport() });
        if (name === 'east') admin = client;
        return [name, { client, url, ca: cluster.ca }] as const;
      }),
    );
    const { mkdtemp } = await import('node:fs/promises');
    const { tmpdir } = await import('node:os');
    const { join } = await import('node:path');
    const data = await mkdtemp(join(tmpdir(), 'gimbal-verify-'));
    const variables = await prepare({ data, clusters: remotes, signal: never });
    kubeconfig = variables['EAST_KUBECONFIG'] ?? '';
    after(async () => {
      const { rm } = await import('node:fs/promises');
      await rm(data, { recursive: true });
    });
  });
  after(async () => {
    await admin?.close();
    await cluster?.close();
  });

  test('a login to a cluster with a read-only token is good, and identifies the cluster', async () => {
    const { uid } = (await admin.get(Namespace, { name: 'kube-system' })).metadata;
    assert.deepEqual(await login(kubeconfig), { isGood: true, identity: uid });
  });

  test('a login to a cluster with an unknown token is refused, and the message does not contain the token', async () => {
    const wrong = kubeconfig.replace(/"token":"[^"]*"/, '"token":"s3cr3t-nobody"');
    const detail = await refusal(wrong);
    assert.match(detail, /^AuthFailed .*401/);
    assert.doesNotMatch(detail, /s3cr3t/);
  });

  test('a login to a cluster without the rights that discovery takes is refused, with what is missing', async () => {
    const { body } = await admin.request({
      method: 'POST',
      path: '/api/v1/namespaces/default/serviceaccounts/default/token',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    });
    const { token } = (body as { status: { token: string } }).status;
    const detail = await refusal(kubeconfig.replace(/"token":"[^"]*"/, `"token":"${token}"`));
    assert.match(detail, /^AuthFailed .*services, endpointslices\.discovery\.k8s\.io.*gimbal rbac remote kubernetes/);
  });

  test('to an untrusted certificate, a closed port or a server that never answers is reported', async () => {
    const year = 31_536_000_000;
    const now = systemClock.now();
    const { certificate: wrong } = await createCa({
      commonName: 'nobody',
      notBefore: now - year,
      notAfter: now + year,
    });
    const other = kubeconfig.replace(
      /"certificate-authority-data":"[^"]*"/,
      `"certificate-authority-data":"${encoded(wrong)}"`,
    );
    assert.match(await refusal(other), /^Unreachable .*certificate/);
    assert.match(await refusal(kubeconfig, 'https://127.0.0.1:1'), /^Unreachable /);
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const began = systemClock.now();
    assert.match(await refusal(kubeconfig, `http://127.0.0.1:${port}`), /^Unreachable /);
    assert.ok(systemClock.now() - began < 10_000);
    silent.closeAllConnections();
    silent.close();
  });

  test('to a server that answers with 500s is tried again', async (t) => {
    const broken = createServer((_request, response) => void response.writeHead(500).end('{}'));
    await new Promise<void>((resolve) => void broken.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      broken.closeAllConnections();
      broken.close();
    });
    const { port } = broken.address() as AddressInfo;
    assert.match(await refusal(kubeconfig, `http://127.0.0.1:${port}`), /^Unreachable .*500/);
  });

  for (const [what, change] of [
    [
      'a program',
      (text: string) =>
        text.replace(/"token":"[^"]*"/, '"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"id"}'),
    ],
    ['a token file', (text: string) => text.replace(/"token":"[^"]*"/, '"tokenFile":"/etc/passwd"')],
    ['a certificate file', (text: string) => text.replace('"certificate-authority-data"', '"certificate-authority"')],
    ['no context', (text: string) => text.replace('"current-context":"remote"', '"current-context":"other"')],
    ['nonsense', () => ': : :'],
    ['nothing', () => ''],
  ] as const)
    test(`a login to a cluster with ${what} in the kubeconfig is not tried at all`, async () => {
      assert.match(await refusal(change(kubeconfig)), /^SecretInvalid /);
    });

  test('a login to a cluster that cannot be tried names the key of the Secret, and a remedy that helps there', async () => {
    const none = kubeconfig.replace('"current-context":"remote",', '');
    assert.match(
      await refusal(none),
      /^SecretInvalid the kubeconfig “config” in the Secret has no current-context; set it/,
    );
    const removed = kubeconfig.replace(/"token":"[^"]*"/, '"auth-provider":{"name":"gcp"}');
    assert.match(
      await refusal(removed),
      /the user "[^"]*" in “config” in the Secret .*, a token or a client certificate$/,
    );
  });

  test('reports when the token expires', () => {
    const end = expiryOf('kubernetes', { config: encoded(kubeconfig) }) ?? 0;
    const days = (end - systemClock.now()) / 86_400_000;
    assert.ok(days > 360 && days < 370, `${days} days`);
  });
});

test('a login to a cloud without an address names the key that is missing', async () => {
  const data = { username: encoded('u'), password: encoded('p'), 'tenant-name': encoded('t') };
  const verdict = await createVerify()({ type: 'openstack', data, endpoint: undefined }, never);
  assert.ok(!verdict.isGood);
  assert.match(verdict.message, /^the Secret has none of the keys auth-url, .*; add auth-url to it$/);
});

test('the end of a token is read where it has one', () => {
  const token = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
  assert.equal(tokenEnd(token({ exp: 1_800_000_000 })), 1_800_000_000_000);
  assert.equal(tokenEnd(token({})), undefined);
  assert.equal(tokenEnd('opaque'), undefined);
  assert.equal(tokenEnd('a.!!!.c'), undefined);
});
