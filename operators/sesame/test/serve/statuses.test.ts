// Statuses: one write for each object and change, by the leader alone, many at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, createCa, issueCertificate, Secret, Service, systemClock } from '@capstan/kube';
import { createStage, freePorts } from '@capstan/testing';
import { defaultConfiguration } from '../../src/configuration/index.ts';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { dataPathComponents } from '../../src/program/data-path.ts';
import { inDefault, served, servers, until } from './fixtures.ts';

const parts = () => {
  const configuration = defaultConfiguration();
  const insecure = { ...configuration, xdsServer: { ...configuration.xdsServer, insecure: true } };
  return dataPathComponents({ listen: { address: '127.0.0.1', port: 0 } }, insecure, () => undefined);
};

test('an ExtensionService and a TLSCertificateDelegation say what is wrong with them, and when it is right', async () => {
  const stage = await createStage({
    operators: [parts().operator],
    async given(client) {
      await client.create(ExtensionService, {
        apiVersion: ExtensionService.apiVersion,
        kind: 'ExtensionService',
        metadata: inDefault('auth'),
        spec: { protocol: 'h2c', services: [{ name: 'auth', port: 80 }], timeoutPolicy: { idle: '5s' } },
      });
      await client.create(TLSCertificateDelegation, {
        apiVersion: TLSCertificateDelegation.apiVersion,
        kind: 'TLSCertificateDelegation',
        metadata: inDefault('shared'),
        spec: { delegations: [{ secretName: 'wildcard', targetNamespaces: ['*'] }] },
      });
    },
  });
  try {
    const valid = async (kind: typeof ExtensionService | typeof TLSCertificateDelegation, name: string) => {
      await stage.settle();
      const object = await stage.client.get(kind as typeof ExtensionService, inDefault(name));
      const found = object.status?.conditions?.find(({ type }) => type === 'Valid');
      return { ...found, text: JSON.stringify(found) };
    };
    const auth = await valid(ExtensionService, 'auth');
    assert.equal(auth.status, 'False');
    assert.match(auth.text, /default\/auth does not exist.*ServiceUnresolvedReference/);
    assert.match(auth.text, /IgnoredField/);
    const shared = await valid(TLSCertificateDelegation, 'shared');
    assert.equal(shared.status, 'False');
    assert.match(shared.text, /Secret default\/wildcard does not exist; create it or correct the name.*SecretNotValid/);

    await stage.client.create(Service, service('auth'));
    const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
    const ca = await createCa({ commonName: 'test', ...validity });
    const issued = await issueCertificate({
      ca,
      commonName: 'w',
      dnsNames: ['*.test'],
      usages: ['server'],
      ...validity,
    });
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    await stage.client.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: inDefault('wildcard'),
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': base64(issued.certificate), 'tls.key': base64(issued.key) },
    });
    assert.equal((await valid(ExtensionService, 'auth')).status, 'True');
    assert.match((await valid(ExtensionService, 'auth')).text, /but with warnings/);
    assert.equal((await valid(TLSCertificateDelegation, 'shared')).status, 'True');
    await stage.restart();
    assert.deepEqual(stage.transport.writes, []);
  } finally {
    await stage.end();
  }
});

test('only the leader writes statuses, one for each proxy, many at a time', async () => {
  await served(async (stage) => {
    const { client } = stage.cluster;
    await client.create(Service, service('shop'));
    const first = await stage.start();
    await stage.becomes('Applied', 'True', await stage.apply(servers(first)));
    const [health = 0, xds = 0] = await freePorts(2);
    const follower = await stage.start({
      flags: [`--health-port=${health}`, `--http-port=${health}`, `--xds-port=${xds}`],
    });
    await until(
      async () => ((await follower.get('/readyz', health))?.status === 200 ? true : undefined),
      'the follower',
    );
    await Promise.all(Array.from({ length: COUNT }, (_, index) => createProxy(client, index)));
    const created = systemClock.now();
    const success = new RegExp(`^sesame_status_update_success_total\\{kind="HTTPProxy"\\} ${COUNT}$`, 'm');
    await until(
      async () => (success.test((await first.get('/metrics'))?.body ?? '') ? true : undefined),
      `the statuses of ${COUNT} proxies`,
      30_000,
    );
    const elapsed = systemClock.now() - created;
    // One after the other, at the rate of clients that are limited, would take minutes; `npm run bench -- xds` measures it.
    assert.ok(elapsed < 20_000, `statuses came ${elapsed} ms after the last proxy`);
    assert.equal(await countValid(client), COUNT);
    const managers = new Set(
      (await client.list(HTTPProxy, { namespace: 'default' })).items.flatMap(({ metadata }) =>
        (metadata.managedFields ?? []).flatMap(({ manager, subresource }) =>
          subresource === 'status' ? [manager] : [],
        ),
      ),
    );
    assert.equal(managers.size, 1);
    assert.match(
      (await follower.get('/metrics', health))?.body ?? '',
      /^sesame_status_update_total\{kind="HTTPProxy"\} 0$/m,
    );
  });
});

const COUNT = 1_000;

function service(name: string): Service {
  const spec = { ports: [{ name: 'http', port: 80, protocol: 'TCP' as const }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: inDefault(name), spec };
}

async function createProxy(client: Client, index: number): Promise<void> {
  await client.create(HTTPProxy, {
    apiVersion: HTTPProxy.apiVersion,
    kind: 'HTTPProxy',
    metadata: inDefault(`proxy-${index}`),
    spec: { virtualhost: { fqdn: `proxy-${index}.test` }, routes: [{ services: [{ name: 'shop', port: 80 }] }] },
  });
}

async function countValid(client: Client): Promise<number> {
  const { items } = await client.list(HTTPProxy, { namespace: 'default' });
  return items.filter(({ status }) => status?.currentStatus === 'valid').length;
}
