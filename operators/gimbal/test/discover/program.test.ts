// The edges, with the real things: a discoverer as a program, against servers over TLS, with credentials in files.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Cluster, startCluster } from '@capstan/apiserver';
import { type Client, CustomResourceDefinition, connect, createClient, systemClock } from '@capstan/kube';
import { runDiscover } from '../../src/discover/command/discover.ts';
import { DiscoveryBackend } from '../../src/kinds/index.ts';
import { addressesOf, backendObject, discovered, discoveryStatus, namespace, remoteService } from './stage.ts';

let cluster: Cluster;
let local: Client;
let remote: Client;
let folder: string;
let remoteConfig: string;

before(async () => {
  cluster = await startCluster({ clock: systemClock, random: Math.random, port: 0, clusters: ['local', 'remote'] });
  const clients = cluster.clusters.map(({ server }) => createClient({ transport: server.transport() }));
  [local, remote] = clients as [Client, Client];
  await local.create(CustomResourceDefinition, DiscoveryBackend.crd());
  await namespace(local, 'team');
  await namespace(remote, 'team');
  await remoteService(remote, 'team/web', ['10.0.0.1']);
  folder = mkdtempSync(join(tmpdir(), 'gimbal-'));
  writeFileSync(join(folder, 'local'), cluster.kubeconfig);
  remoteConfig = cluster.kubeconfig.replace(/^current-context: .*$/m, 'current-context: remote');
});

after(async () => {
  await cluster.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the program with these files as its Secret, until the check is done. */
async function program(
  type: 'kubernetes' | 'openstack',
  backend: string,
  secret: Record<string, string>,
  check: (address: () => string | undefined, detail: () => string) => Promise<void>,
): Promise<void> {
  const dir = join(folder, `${backend}-secret`);
  mkdirSync(dir);
  for (const [key, value] of Object.entries(secret)) writeFileSync(join(dir, key), value);
  const flags = [
    `--backend-name=${backend}`,
    `--credentials-dir=${dir}`,
    `--gimbal-kubecfg-file=${join(folder, 'local')}`,
    '--backend-namespace=default',
    '--bind-address=127.0.0.1',
    '--prometheus-listen-address=0',
    ...(type === 'openstack' ? ['--health-port=0'] : []),
  ];
  const stopping = new AbortController();
  let detail = '';
  const done = runDiscover([type, ...flags], {
    stdout: () => {},
    stderr: (text) => void (detail += text),
    env: {},
    files: { read: (path) => readFile(path, 'utf8') },
    signal: stopping.signal,
    connect,
    identity: `test-${backend}`,
  });
  try {
    await check(
      () => /"address":"([^"]+)"/.exec(detail)?.[1],
      () => detail,
    );
  } finally {
    stopping.abort();
    assert.equal(await done, 0, detail);
  }
}

async function eventually(check: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await check();
    } catch (error) {
      if (tries >= 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const typesOf = async (name: string) => (await discoveryStatus(local, name))?.errors?.map(({ type }) => type);

describe('a discoverer as a program', { timeout: 60_000, concurrency: true }, () => {
  it('is ready when the first comparison is complete, serves its metrics, and writes its status', async () => {
    await backendObject(local, 'east');
    await program('kubernetes', 'east', { config: remoteConfig }, async (address) => {
      await eventually(async () => assert.equal((await fetch(`http://${address()}/readyz`)).status, 200));
      assert.deepEqual(await discovered(local), ['team/east-web']);
      assert.deepEqual(await addressesOf(local, 'team/east-web'), ['10.0.0.1']);
      assert.equal((await fetch(`http://${address()}/healthz`)).status, 200);
      const metrics = await (await fetch(`http://${address()}/metrics`)).text();
      assert.match(metrics, /gimbal_discoverer_replicated_services_total\{[^}]*namespace="team"[^}]*\} 1/);
      assert.match(metrics, /gimbal_discoverer_api_latency_milliseconds_count\{[^}]*path="\/api\/v1\/services"/);
      await eventually(async () => assert.equal((await discoveryStatus(local, 'east'))?.synced, true));
    });
  });

  it('takes no kubeconfig that runs programs', async () => {
    await backendObject(local, 'exec');
    const exec = `apiVersion: v1
kind: Config
current-context: remote
contexts: [{name: remote, context: {cluster: remote, user: me}}]
clusters: [{name: remote, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: me, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true}}}]
`;
    await program('kubernetes', 'exec', { kubeconfig: exec }, async (address) => {
      await eventually(async () => assert.deepEqual(await typesOf('exec'), ['SecretInvalid']));
      const error = (await discoveryStatus(local, 'exec'))?.errors?.[0];
      assert.match(error?.message ?? '', /refers to a program \(exec\)/);
      assert.equal((await fetch(`http://${address()}/readyz`)).status, 500);
      assert.equal((await fetch(`http://${address()}/healthz`)).status, 200);
    });
  });

  it('reports a Secret without a kubeconfig, and an invalid kubeconfig', async () => {
    await backendObject(local, 'empty');
    await program('kubernetes', 'empty', { other: 'x' }, () =>
      eventually(async () => assert.deepEqual(await typesOf('empty'), ['SecretMissing'])),
    );
    await backendObject(local, 'broken');
    await program('kubernetes', 'broken', { config: '{{{' }, () =>
      eventually(async () => assert.deepEqual(await typesOf('broken'), ['SecretInvalid'])),
    );
  });

  it('reports a certificate that does not verify, and a token that is not accepted', async () => {
    await backendObject(local, 'untrusted');
    const untrusted = remoteConfig.replace(/certificate-authority-data: .*/g, 'tls-server-name: elsewhere.example');
    await program('kubernetes', 'untrusted', { config: untrusted }, async () => {
      await eventually(async () => assert.deepEqual(await typesOf('untrusted'), ['Unreachable']));
      assert.match((await discoveryStatus(local, 'untrusted'))?.errors?.[0]?.message ?? '', /certificate/);
    });
    await backendObject(local, 'expired');
    const { url } = cluster.clusters[1] ?? { url: '' };
    const ca = Buffer.from(cluster.ca).toString('base64');
    const expired = `apiVersion: v1
kind: Config
current-context: remote
contexts: [{name: remote, context: {cluster: remote, user: me}}]
clusters: [{name: remote, cluster: {server: "${url}", certificate-authority-data: ${ca}}}]
users: [{name: me, user: {token: a-token-of-yesterday}}]
`;
    await program('kubernetes', 'expired', { config: expired }, async (_address, detail) => {
      await eventually(async () => assert.deepEqual(await typesOf('expired'), ['AuthFailed']));
      assert.doesNotMatch(JSON.stringify(await discoveryStatus(local, 'expired')), /a-token-of-yesterday/);
      assert.doesNotMatch(detail(), /a-token-of-yesterday/);
    });
  });

  it('reports a cloud that serves half an answer', async () => {
    await backendObject(local, 'half');
    const server = createServer((_request, response) => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"token": {"expires_at": "2030');
      response.destroy();
    });
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const secret = {
      username: 'u',
      password: 'a-password-that-nobody-sees',
      'tenant-name': 'p',
      'auth-url': `http://127.0.0.1:${port}`,
    };
    try {
      await program('openstack', 'half', secret, async (_address, detail) => {
        await eventually(async () => assert.deepEqual(await typesOf('half'), ['Unreachable']));
        const health = /"health":"([^"]+)"/.exec(detail())?.[1];
        assert.equal((await fetch(`http://${health}/healthz`)).status, 500, 'the cloud does not answer');
        assert.doesNotMatch(detail(), /a-password-that-nobody-sees/);
      });
    } finally {
      server.close();
    }
  });
});
