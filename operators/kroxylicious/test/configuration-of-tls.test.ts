import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type KubeObject } from '@capstan/kube';
import {
  configured,
  containerPorts,
  issued,
  mountsOf,
  portsOf,
  root,
  serviceOf,
  volumesOf,
} from './configuration.test-support.ts';
import {
  cluster,
  configMap,
  filter,
  get,
  opaque,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

describe('TLS towards Kafka', () => {
  const withTls = (tls: object, ...more: KubeObject[]) => [
    proxy(),
    service({ bootstrapServers: 'a:1, b:2', tls }),
    tcpIngress(),
    cluster('one'),
    ...more,
  ];

  test('uses a certificate, a trust anchor in a ConfigMap, and allowed versions', () =>
    staged(
      {
        objects: withTls(
          {
            certificateRef: { name: 'client' },
            trustAnchorRef: { name: 'ca', key: 'ca.pem' },
            protocols: { allow: ['TLSv1.3'] },
            cipherSuites: { deny: ['B', 'A'] },
          },
          tlsSecret('client', issued),
          configMap('ca', { 'ca.pem': issued.ca }),
        ),
      },
      async ({ client }) => {
        assert.deepEqual((await configured(client)).virtualClusters[0]?.targetCluster, {
          bootstrapServers: 'a:1,b:2',
          bootstrapServerSelection: { strategy: 'round-robin' },
          tls: {
            key: {
              privateKeyFile: `${root}/target-cluster/client-certs/client/tls.key`,
              certificateFile: `${root}/target-cluster/client-certs/client/tls.crt`,
            },
            trust: { storeFile: `${root}/target-cluster/trusted-certs/ca/ca.pem`, storeType: 'PEM' },
            cipherSuites: { denied: ['A', 'B'] },
            protocols: { allowed: ['TLSv1.3'] },
          },
        });
        assert.deepEqual(volumesOf(await get.deployment(client)), ['config-volume', 'configmaps-ca', 'secrets-client']);
        const { status } = await get.service(client);
        assert.equal(status?.bootstrapServers, 'a:1,b:2');
        assert.equal(status.tls?.trustAnchorRef?.storeType, 'PEM');
      },
    ));

  test('uses a trust anchor in a Secret with a given type', () =>
    staged(
      {
        objects: withTls(
          { trustAnchorRef: { kind: 'Secret', name: 'ca', key: 'bundle', storeType: 'PEM' } },
          opaque('ca', { bundle: issued.ca }),
        ),
      },
      async ({ client }) => {
        const tls = (await configured(client)).virtualClusters[0]?.targetCluster.tls;
        assert.deepEqual(tls, {
          trust: { storeFile: `${root}/target-cluster/trusted-certs/ca/bundle`, storeType: 'PEM' },
        });
      },
    ));

  test('mounts a Secret that a filter uses too as one volume', () =>
    staged(
      {
        objects: [
          proxy(),
          service({
            bootstrapServers: 'a:1',
            tls: { trustAnchorRef: { kind: 'Secret', name: 'shared', key: 'ca.pem' } },
          }),
          tcpIngress(),
          filter({ file: '${secret:shared:password}' }),
          opaque('shared', { 'ca.pem': issued.ca, password: 'x1234' }),
          cluster('one', { filterRefs: [{ name: 'encryption' }] }),
        ],
      },
      async ({ client }) => {
        const deployment = await get.deployment(client);
        assert.deepEqual(volumesOf(deployment), ['config-volume', 'secrets-shared']);
        assert.deepEqual(mountsOf(deployment)?.slice(1), [
          `secrets-shared ${root}/secure/secret/shared`,
          `secrets-shared ${root}/target-cluster/trusted-certs/shared`,
        ]);
        const volume = deployment.spec?.template.spec?.volumes?.find(({ name }) => name === 'secrets-shared');
        assert.equal(volume?.secret?.defaultMode, 0o640);
      },
    ));

  test('TLS towards Kafka without settings trusts the authorities of the platform', () =>
    staged({ objects: withTls({}) }, async ({ client }) => {
      assert.deepEqual((await configured(client)).virtualClusters[0]?.targetCluster.tls, {});
    }));
});

describe('TLS towards clients', () => {
  const withTls = (tls: object, ...more: KubeObject[]) => [
    proxy(),
    service({
      bootstrapServers: 'a:1',
      nodeIdRanges: [
        { name: 'brokers', start: 0, end: 1 },
        { start: 10, end: 10 },
      ],
    }),
    tlsIngress(),
    tlsSecret('server', issued),
    cluster('one', {
      ingresses: [{ ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' }, ...tls } }],
    }),
    ...more,
  ];

  test('brokers are distinguished by host name, each with a Service', () =>
    staged({ objects: withTls({}) }, async ({ client }) => {
      assert.deepEqual((await configured(client)).virtualClusters[0]?.gateways, [
        {
          name: 'tls',
          sniHostIdentifiesNode: {
            bootstrapAddress: 'one-tls-bootstrap.default.svc.cluster.local:9291',
            advertisedBrokerAddressPattern: 'one-tls-$(nodeId).default.svc.cluster.local:9292',
          },
          tls: {
            key: {
              privateKeyFile: `${root}/virtual-cluster/server-certs/server/tls.key`,
              certificateFile: `${root}/virtual-cluster/server-certs/server/tls.crt`,
            },
          },
        },
      ]);
      for (const name of ['one-tls-bootstrap', 'one-tls-0', 'one-tls-1', 'one-tls-10'])
        assert.deepEqual(portsOf(await serviceOf(client, name)), ['9292->9291']);
      assert.deepEqual(containerPorts(await get.deployment(client)), ['9190 management', '9291 shared-sni-port']);
      assert.equal(
        (await get.cluster(client, 'one')).status?.ingresses?.[0]?.bootstrapServer,
        'one-tls-bootstrap.default.svc.cluster.local:9292',
      );
    }));

  for (const [given, clientAuth] of [
    [undefined, 'REQUIRED'],
    ['REQUIRED', 'REQUIRED'],
    ['REQUESTED', 'REQUESTED'],
    ['NONE', 'NONE'],
  ] as const) {
    test(`requires clients’ certificates as ${clientAuth} for ${given ?? 'no setting'}`, () =>
      staged(
        {
          objects: withTls(
            {
              trustAnchorRef: { name: 'clients', key: 'ca.pem' },
              ...(given === undefined ? {} : { tlsClientAuthentication: given }),
            },
            configMap('clients', { 'ca.pem': issued.ca }),
          ),
        },
        async ({ client }) => {
          assert.deepEqual((await configured(client)).virtualClusters[0]?.gateways[0]?.tls?.trust, {
            storeFile: `${root}/virtual-cluster/trusted-certs/clients/ca.pem`,
            storeType: 'PEM',
            trustOptions: { clientAuth },
          });
        },
      ));
  }

  test('applies allowed and denied versions and cipher suites, and clients’ trust from a Secret', () =>
    staged(
      {
        objects: withTls(
          {
            protocols: { allow: ['TLSv1.3', 'TLSv1.2'], deny: ['TLSv1.1'] },
            cipherSuites: { allow: ['TLS_AES_128_GCM_SHA256'], deny: ['B', 'A', 'B'] },
            trustAnchorRef: { kind: 'Secret', name: 'clients', key: 'bundle', storeType: 'PEM' },
          },
          opaque('clients', { bundle: issued.ca }),
        ),
      },
      async ({ client }) => {
        const { protocols, cipherSuites, trust } =
          (await configured(client)).virtualClusters[0]?.gateways[0]?.tls ?? {};
        assert.deepEqual(protocols, { allowed: ['TLSv1.3', 'TLSv1.2'], denied: ['TLSv1.1'] });
        assert.deepEqual(cipherSuites, { allowed: ['TLS_AES_128_GCM_SHA256'], denied: ['A', 'B'] });
        assert.equal(trust?.storeFile, `${root}/virtual-cluster/trusted-certs/clients/bundle`);
        assert.deepEqual(volumesOf(await get.deployment(client)), [
          'config-volume',
          'secrets-clients',
          'secrets-server',
        ]);
      },
    ));

  test('serves two certificates for two ingresses', () =>
    staged(
      {
        objects: [
          ...withTls({}).slice(0, 4),
          tlsIngress('inner'),
          tlsSecret('other', issued),
          cluster('one', {
            ingresses: [
              { ingressRef: { name: 'tls' }, tls: { certificateRef: { name: 'server' } } },
              { ingressRef: { name: 'inner' }, tls: { certificateRef: { name: 'other' } } },
            ],
          }),
        ],
      },
      async ({ client }) => {
        const files = (await configured(client)).virtualClusters[0]?.gateways.map(
          ({ tls }) => tls?.key?.certificateFile,
        );
        assert.deepEqual(files, [
          `${root}/virtual-cluster/server-certs/server/tls.crt`,
          `${root}/virtual-cluster/server-certs/other/tls.crt`,
        ]);
      },
    ));
});
