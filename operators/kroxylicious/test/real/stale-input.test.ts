// The real proxy is rolled with the last good content of a cluster whose Secret is broken or gone.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { type Client, Pod, Secret, Service } from '@capstan/kube';
import { VirtualKafkaCluster } from '../../src/index.ts';
import {
  certificate,
  cluster,
  condition,
  create,
  encoded,
  get,
  NAMESPACE,
  patch,
  proxy,
  service,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from '../fixtures.ts';
import { startLocalCluster } from './local-cluster.ts';
import { skip, until } from './programs.ts';

test('Snapshot rolls the real proxy for b while the certificate of a is invalid, and then while it is gone', {
  skip,
  timeout: 150_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-kroxylicious-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const local = await startLocalCluster(folder);
  t.after(() => local.stop());
  const { client } = local;
  const issued = await certificate();
  await create(
    client,
    proxy({ rollout: { onStaleInput: 'Snapshot' } }),
    service({ bootstrapServers: 'localhost:9' }),
    service({ bootstrapServers: 'localhost:99' }, 'second'),
    service({ bootstrapServers: 'localhost:999' }, 'third'),
    tcpIngress(),
    tlsIngress(),
    tlsSecret('server', issued),
    cluster('a', { ingresses: [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } }] }),
    cluster('b'),
  );
  const first = await until('the proxy is ready', () => settledPod(client));
  assert.equal(first.metadata.annotations?.['capstan.dev/simulated'], undefined, 'the pod is the real proxy');

  await patch(client, Secret, 'server', { data: encoded({ 'tls.crt': 'junk' }) });
  await until('a reports it', async () => condition(await get.cluster(client, 'a'), 'StaleConfig')?.status === 'True');
  await patch(client, VirtualKafkaCluster, 'b', { spec: { targetKafkaServiceRef: { name: 'second' } } });
  const second = await until('the proxy is rolled', () => settledPod(client, first));
  assert.equal(await servedCertificate(client), issued.certificate);

  await client.delete(Secret, { namespace: NAMESPACE, name: 'server' });
  await patch(client, VirtualKafkaCluster, 'b', { spec: { targetKafkaServiceRef: { name: 'third' } } });
  const third = await until('the proxy is rolled again', () => settledPod(client, second));
  assert.equal(third.status?.containerStatuses?.[0]?.restartCount, 0);
  assert.equal(await servedCertificate(client), issued.certificate);
  assert.equal(condition(await get.cluster(client, 'b'), 'RolloutHeld'), undefined);
});

/** Returns the only pod once the Deployment is rolled out completely. It must differ from `old`. */
async function settledPod(client: Client, old?: Pod): Promise<Pod | undefined> {
  const { items: pods } = await client.list(Pod, { namespace: NAMESPACE });
  const [pod] = pods;
  if (pods.length !== 1 || pod === undefined || pod.metadata.uid === old?.metadata.uid) return undefined;
  const { status, metadata } = await get.deployment(client);
  const isComplete = status?.observedGeneration === metadata.generation && status?.readyReplicas === 1;
  return isComplete && status.updatedReplicas === 1 ? pod : undefined;
}

/** Returns the certificate that clients of a see, as PEM. */
async function servedCertificate(client: Client): Promise<string> {
  const name = 'a-tls-bootstrap';
  const { spec } = await client.get(Service, { namespace: NAMESPACE, name });
  const servername = `${name}.${NAMESPACE}.svc.cluster.local`;
  const socket = connect({ host: spec?.clusterIP ?? '', port: 9292, servername, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect');
    const lines =
      socket
        .getPeerCertificate()
        .raw.toString('base64')
        .match(/.{1,64}/g) ?? [];
    return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  } finally {
    socket.destroy();
  }
}
