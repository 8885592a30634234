// The end-to-end test: a real Kafka broker, the operator on the embedded cluster, and the real proxy in its pods. Clients produce and
// consume through two virtual clusters, one of them with TLS, while the certificate is renewed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import {
  type CertificateAndKey,
  type Client,
  createCa,
  Deployment,
  issueCertificate,
  Pod,
  ReplicaSet,
  Secret,
  Service,
  systemClock,
} from '@capstan/kube';
import {
  checksum,
  cluster,
  condition,
  create,
  get,
  NAMESPACE,
  patch,
  proxy,
  service,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from '../fixtures.ts';
import { startBroker } from './broker.ts';
import { type LocalCluster, startLocalCluster } from './local-cluster.ts';
import { java, type Program, skip, until } from './programs.ts';

const PLAIN = `one-tcp-bootstrap.${NAMESPACE}.svc.cluster.local`;
const SECURE = `two-tls-bootstrap.${NAMESPACE}.svc.cluster.local`;

test('a renewed certificate rolls the real proxy once, and its clients lose nothing', {
  skip,
  timeout: 150_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-kroxylicious-'));
  const cleanUp: (() => Promise<void> | void)[] = [() => rmSync(folder, { recursive: true, force: true })];
  t.after(async () => {
    for (const undo of cleanUp.toReversed()) await undo();
  });
  for (const name of ['broker', 'node']) mkdirSync(join(folder, name));
  const validity = { notBefore: systemClock.now() - DAY, notAfter: systemClock.now() + 30 * DAY };
  const ca = await createCa({ commonName: 'test', ...validity });
  const trust = join(folder, 'ca.pem');
  writeFileSync(trust, ca.certificate);

  const broker = await startBroker(join(folder, 'broker'));
  cleanUp.push(() => broker.program.stop());
  const local = await startLocalCluster(join(folder, 'node'));
  cleanUp.push(() => local.stop());
  const { client } = local;
  await create(
    client,
    proxy(),
    service({ bootstrapServers: broker.bootstrap }),
    tcpIngress(),
    tlsIngress(),
    tlsSecret('server', await issue(ca, validity)),
    cluster('one'),
    cluster('two', { ingresses: [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } }] }),
  );
  const first = await until('the proxy is ready', () => settledPod(client), { instead: () => story(local) });
  assert.equal(first.metadata.annotations?.['capstan.dev/simulated'], undefined, 'the pod is the real proxy');
  const before = await get.deployment(client);

  const addresses = await until('every name has an address', () => serviceAddresses(client));
  const hosts = join(folder, 'hosts');
  writeFileSync(hosts, [...addresses].map(([name, address]) => `${address} ${name}\n`).join(''));
  const clients = [
    ['one', `${PLAIN}:9292`, '-'],
    ['two', `${SECURE}:9292`, trust],
  ];
  const traffic = java('kafka', [
    `-Djdk.net.hosts.file=${hosts}`,
    join(import.meta.dirname, 'Traffic.java'),
    ...clients.flat(),
  ]);
  cleanUp.push(() => traffic.stop());
  await haveRead(traffic, local, { one: 100, two: 100 });
  const secureAddress = addresses.get(SECURE) ?? '';
  const served = await serialNumber(secureAddress, ca.certificate);

  const renewed = tlsSecret('server', await issue(ca, validity));
  await patch(client, Secret, 'server', { data: renewed.data });
  const second = await until('the proxy is rolled', () => settledPod(client, first), { instead: () => story(local) });
  const after = await get.deployment(client);
  assert.notEqual(checksum(after), checksum(before));
  assert.notEqual(second.status?.podIP, first.status?.podIP);
  assert.notEqual(await serialNumber(secureAddress, ca.certificate), served, 'the new certificate is served');

  // The old proxy is gone, so all records that are read from now on came through the new one.
  const { one = 0, two = 0 } = readSoFar(traffic);
  await haveRead(traffic, local, { one: one + 100, two: two + 100 });
  traffic.input.end();
  assert.equal(await traffic.ended, 0, traffic.errors());
  const results = matches(traffic.lines, RESULT);
  assert.deepEqual(new Set(results.map(({ name }) => name)), new Set(['one', 'two']));
  for (const { name, sent, acknowledged, appended, inOrder } of results) {
    assert.ok(Number(sent) > 200, `${name} sent ${sent}`);
    assert.deepEqual(
      { name, acknowledged, appended, inOrder },
      { name, acknowledged: sent, appended: sent, inOrder: 'true' },
    );
  }

  const { items: sets } = await client.list(ReplicaSet, { namespace: NAMESPACE });
  assert.equal(sets.length, 2, 'one rollout, and no other');
  const last = await get.deployment(client);
  assert.equal(last.metadata.generation, after.metadata.generation);
  const { items: pods } = await client.list(Pod, { namespace: NAMESPACE });
  assert.deepEqual(
    pods.map((pod) => pod.status?.containerStatuses?.[0]?.restartCount),
    [0],
  );
  assert.equal(condition(await get.proxy(client), 'Ready')?.status, 'True');
});

const DAY = 86_400_000;
const RESULT =
  /^(?<name>\w+) sent (?<sent>\d+) acknowledged (?<acknowledged>\d+) appended (?<appended>\d+) inOrder (?<inOrder>\w+)$/;

function issue(ca: CertificateAndKey, validity: { notBefore: number; notAfter: number }): Promise<CertificateAndKey> {
  const dnsNames = [SECURE, ...[0, 1, 2].map((id) => `two-tls-${id}.${NAMESPACE}.svc.cluster.local`)];
  return issueCertificate({ ca, commonName: 'proxy', dnsNames, usages: ['server'], ...validity });
}

/** Returns the only pod once the Deployment is rolled out completely. It must differ from `old`. */
async function settledPod(client: Client, old?: Pod): Promise<Pod | undefined> {
  const { items: deployments } = await client.list(Deployment, { namespace: NAMESPACE });
  const [deployment] = deployments;
  if (deployment?.status?.observedGeneration !== deployment?.metadata.generation) return undefined;
  if (deployment?.status?.readyReplicas !== 1 || deployment.status.updatedReplicas !== 1) return undefined;
  const { items: pods } = await client.list(Pod, { namespace: NAMESPACE });
  return pods.length === 1 && pods[0]?.metadata.uid !== old?.metadata.uid ? pods[0] : undefined;
}

/** Returns the addresses of the Services of both clusters by name, or undefined until all have one. */
async function serviceAddresses(client: Client): Promise<Map<string, string> | undefined> {
  const { items } = await client.list(Service, { namespace: NAMESPACE });
  const addresses = new Map(
    items.map(({ metadata, spec }) => [`${metadata.name}.${NAMESPACE}.svc.cluster.local`, spec?.clusterIP ?? '']),
  );
  const isThere = [PLAIN, SECURE, ...[0, 1, 2].map((id) => `two-tls-${id}.${NAMESPACE}.svc.cluster.local`)].every(
    (name) => addresses.has(name),
  );
  return isThere ? addresses : undefined;
}

function matches(lines: readonly string[], pattern: RegExp): Record<string, string>[] {
  return lines.flatMap((line) => {
    const groups = pattern.exec(line)?.groups;
    return groups === undefined ? [] : [groups];
  });
}

function readSoFar({ lines }: Program): Record<string, number> {
  const found = matches(lines, /^(?<name>\w+) read (?<count>\d+)$/);
  return Object.fromEntries(found.map(({ name = '', count }) => [name, Number(count)]));
}

async function haveRead(traffic: Program, local: LocalCluster, wanted: Record<string, number>): Promise<void> {
  await until(
    `clients have read ${JSON.stringify(wanted)}`,
    () => {
      const read = readSoFar(traffic);
      return Object.entries(wanted).every(([name, count]) => (read[name] ?? 0) >= count);
    },
    { instead: async () => `${traffic.lines.slice(-5).join('\n')}\n${traffic.errors()}\n${await story(local)}` },
  );
}

async function serialNumber(host: string, ca: string): Promise<string> {
  const socket = connect({ host, port: 9292, servername: SECURE, ca });
  try {
    await once(socket, 'secureConnect');
    return socket.getPeerCertificate().serialNumber;
  } finally {
    socket.destroy();
  }
}

/** Returns the logs of the pods, for the message of a test that timed out. */
async function story({ client, node }: LocalCluster): Promise<string> {
  const { items } = await client.list(Pod, { namespace: NAMESPACE });
  const parts = items.map(async ({ metadata: { name = '' }, status }) => {
    const detail: string[] = [];
    try {
      for await (const text of await node.logs(NAMESPACE, name)) detail.push(text);
    } catch (error) {
      detail.push(String(error));
    }
    return `${name}: ${JSON.stringify(status?.conditions)}\n${detail.join('').slice(-4000)}`;
  });
  return (await Promise.all(parts)).join('\n');
}
