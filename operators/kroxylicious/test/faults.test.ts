// Bad input gives a condition on the faulty resource, with the path and the remedy, and healthy clusters stay up.
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { describe, test } from 'node:test';
import { type Client, ConfigMap, Deployment, type KubeObject, Secret, Service, systemClock } from '@capstan/kube';
import { evaluate } from '@capstan/reconcile';
import { parse } from 'yaml';
import type { ProxyConfiguration } from '../src/configuration/schema.ts';
import {
  createKroxylicious,
  KafkaProtocolFilter,
  KafkaProxy,
  KafkaProxyIngress,
  KafkaService,
  VirtualKafkaCluster,
} from '../src/index.ts';
import { CLUSTERS_ANNOTATION } from '../src/kinds/labels.ts';
import {
  balancerIngress,
  certificate,
  checksum,
  cluster,
  condition,
  configMap,
  configurationOf,
  create,
  encoded,
  filter,
  get,
  NAMESPACE,
  object,
  opaque,
  patch,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsIngress,
  tlsSecret,
} from './fixtures.ts';

const [issued, other] = await Promise.all([certificate(), certificate()]);

/** Returns a healthy cluster, to which each test adds a faulty one. */
const healthy = (): KubeObject[] => [
  proxy(),
  service(),
  tcpIngress(),
  tlsIngress(),
  balancerIngress(),
  tlsSecret('server', issued),
  cluster('healthy'),
];
const tls = (more: object = {}, ingress = 'tls') => ({
  ingresses: [{ ingressRef: { name: ingress }, tls: { certificateRef: { name: 'server' }, ...more } }],
});
const clusterNames = async (client: Client) =>
  (parse(await configurationOf(client)) as ProxyConfiguration).virtualClusters.map(({ name }) => name);

const olderForm = (key: string) => createPrivateKey(key).export({ type: 'sec1', format: 'pem' });
const fixedIngress = (name: string, bootstrapPort: number) =>
  object(KafkaProxyIngress, name, {
    spec: { proxyRef: { name: 'my-proxy' }, clusterIP: { protocol: 'TCP', bootstrapPort } },
  });

describe('a fault of a virtual cluster', () => {
  const cases: { name: string; given?: KubeObject[]; spec: object; type?: string; reason: string; message: RegExp }[] =
    [
      {
        name: 'no such proxy',
        spec: { proxyRef: { name: 'nowhere' } },
        reason: 'ReferencedResourcesNotFound',
        message: /spec\.proxyRef: kafkaproxy\/nowhere in namespace default does not exist; create it/,
      },
      {
        name: 'no such service',
        spec: { targetKafkaServiceRef: { name: 'nowhere' } },
        reason: 'ReferencedResourcesNotFound',
        message: /spec\.targetKafkaServiceRef: kafkaservice\/nowhere/,
      },
      {
        name: 'no such filter',
        spec: { filterRefs: [{ name: 'nowhere' }] },
        reason: 'ReferencedResourcesNotFound',
        message: /spec\.filterRefs\[0\]: kafkaprotocolfilter\/nowhere/,
      },
      {
        name: 'no such ingress',
        spec: { ingresses: [{ ingressRef: { name: 'nowhere' } }] },
        reason: 'ReferencedResourcesNotFound',
        message: /spec\.ingresses\[0\]\.ingressRef: kafkaproxyingress\/nowhere/,
      },
      {
        name: 'an ingress of another proxy',
        given: [proxy({}, 'other'), tcpIngress('theirs', 'other')],
        spec: { ingresses: [{ ingressRef: { name: 'theirs' } }] },
        reason: 'TransitivelyReferencedResourcesNotFound',
        message: /belongs to the proxy other, not to my-proxy/,
      },
      {
        name: 'a service with a fault of its own',
        given: [service({ bootstrapServers: 'x:1', tls: { certificateRef: { name: 'nowhere' } } }, 'broken')],
        spec: { targetKafkaServiceRef: { name: 'broken' } },
        reason: 'TransitivelyReferencedResourcesNotFound',
        message: /kafkaservice\/broken .*spec\.tls\.certificateRef: secret\/nowhere/,
      },
      {
        name: 'a filter with a fault of its own',
        given: [filter({ a: '${secret:nowhere:x}' }, 'broken')],
        spec: { filterRefs: [{ name: 'broken' }] },
        reason: 'TransitivelyReferencedResourcesNotFound',
        message: /kafkaprotocolfilter\/broken .*secret\/nowhere/,
      },
      {
        name: 'TLS missing',
        spec: { ingresses: [{ ingressRef: { name: 'tls' } }] },
        reason: 'InvalidReferencedResource',
        message:
          /spec\.ingresses\[0\]\.tls: the ingress tls uses TLS, and no certificate is given; add tls\.certificateRef/,
      },
      {
        name: 'TLS missing for a load balancer',
        spec: { ingresses: [{ ingressRef: { name: 'outside' } }] },
        reason: 'InvalidReferencedResource',
        message: /uses TLS/,
      },
      {
        name: 'TLS where there is none',
        spec: tls({}, 'tcp'),
        reason: 'InvalidReferencedResource',
        message: /plain TCP; remove tls/,
      },
      {
        name: 'no such certificate',
        spec: tls({ certificateRef: { name: 'nowhere' } }),
        reason: 'ReferencedResourcesNotFound',
        message: /spec\.ingresses\[0\]\.tls\.certificateRef: secret\/nowhere/,
      },
      {
        name: 'a certificate that is no Secret',
        spec: tls({ certificateRef: { kind: 'ConfigMap', name: 'x' } }),
        reason: 'ReferencedGroupKindNotSupported',
        message: /must be Secret/,
      },
      {
        name: 'a Secret of the wrong type',
        given: [opaque('plain', { 'tls.crt': 'x', 'tls.key': 'y' })],
        spec: tls({ certificateRef: { name: 'plain' } }),
        reason: 'InvalidReferencedResource',
        message: /type Opaque; it must be kubernetes\.io\/tls/,
      },
      {
        name: 'a certificate that does not parse',
        given: [tlsSecret('junk', { certificate: 'junk', key: issued.key })],
        spec: tls({ certificateRef: { name: 'junk' } }),
        reason: 'InvalidReferencedResource',
        message: /tls\.crt holds no PEM certificate/,
      },
      {
        name: 'a certificate with another’s key',
        given: [tlsSecret('mixed', { certificate: issued.certificate, key: other.key })],
        spec: tls({ certificateRef: { name: 'mixed' } }),
        reason: 'InvalidReferencedResource',
        message: /tls\.key is not the key of the certificate/,
      },
      {
        name: 'no such trust anchor',
        spec: tls({ trustAnchorRef: { name: 'nowhere', key: 'a.pem' } }),
        reason: 'ReferencedResourcesNotFound',
        message: /configmap\/nowhere/,
      },
      {
        name: 'a trust anchor without the key',
        given: [configMap('ca', { 'b.pem': issued.ca })],
        spec: tls({ trustAnchorRef: { name: 'ca', key: 'a.pem' } }),
        reason: 'InvalidReferencedResource',
        message: /has no key a\.pem/,
      },
      {
        name: 'a trust anchor of an unknown type',
        given: [configMap('ca', { bundle: issued.ca })],
        spec: tls({ trustAnchorRef: { name: 'ca', key: 'bundle' } }),
        reason: 'Invalid',
        message: /trustAnchorRef\.key: bundle does not end in .*set storeType/,
      },
      {
        name: 'a trust anchor that does not parse',
        given: [configMap('ca', { 'a.pem': 'junk' })],
        spec: tls({ trustAnchorRef: { name: 'ca', key: 'a.pem' } }),
        reason: 'InvalidReferencedResource',
        message: /not usable: it holds no PEM/,
      },
      {
        name: 'a trust anchor of another kind',
        spec: tls({ trustAnchorRef: { kind: 'Pod', name: 'ca', key: 'a.pem' } }),
        reason: 'ReferencedGroupKindNotSupported',
        message: /ConfigMap or Secret/,
      },
      {
        name: 'an ingress twice',
        spec: { ingresses: [{ ingressRef: { name: 'tcp' } }, { ingressRef: { name: 'tcp' } }] },
        type: 'Accepted',
        reason: 'Invalid',
        message: /spec\.ingresses\[1\]\.ingressRef: the ingress tcp is there twice/,
      },
      {
        name: 'TLS versions that exclude each other',
        spec: tls({ protocols: { allow: ['TLS1.3'] } }),
        reason: 'Invalid',
        message:
          /spec\.ingresses\[0\]\.tls\.protocols: no version of TLS is left of TLS1\.3; allow TLSv1\.2 or TLSv1\.3/,
      },
      {
        name: 'a chain whose certificate is not the first',
        given: [tlsSecret('chain', { certificate: `${issued.ca}${issued.certificate}`, key: issued.key })],
        spec: tls({ certificateRef: { name: 'chain' } }),
        reason: 'InvalidReferencedResource',
        message: /not the first one in tls\.crt/,
      },
      {
        name: 'a key that the proxy cannot read',
        given: [tlsSecret('sec1', { certificate: issued.certificate, key: olderForm(issued.key) })],
        spec: tls({ certificateRef: { name: 'sec1' } }),
        reason: 'InvalidReferencedResource',
        message: /secret\/sec1 .*not in the PKCS#8 form.*cert-manager/,
      },
      {
        name: 'an empty certificate',
        given: [tlsSecret('empty', { certificate: '', key: '' })],
        spec: tls({ certificateRef: { name: 'empty' } }),
        reason: 'InvalidReferencedResource',
        message: /secret\/empty .*tls\.crt holds no PEM certificate/,
      },
      {
        name: 'a trust store that is no PKCS#12',
        given: [configMap('ca', { 'a.p12': issued.ca })],
        spec: tls({ trustAnchorRef: { name: 'ca', key: 'a.p12' } }),
        reason: 'InvalidReferencedResource',
        message: /key a\.p12 of configmap\/ca .*no PKCS#12 store/,
      },
      {
        name: 'a port that the proxy has itself',
        given: [fixedIngress('reserved', 9190)],
        spec: { ingresses: [{ ingressRef: { name: 'reserved' } }] },
        type: 'Accepted',
        reason: 'Invalid',
        message: /port 9190 is used by the proxy itself; give the ingress another bootstrapPort/,
      },
      {
        name: 'ports past the last',
        given: [fixedIngress('late', 65_534)],
        spec: { ingresses: [{ ingressRef: { name: 'late' } }] },
        type: 'Accepted',
        reason: 'Invalid',
        message: /needs ports up to 65537, and 65535 is the last/,
      },
      {
        name: 'ports among those of another',
        given: [
          fixedIngress('first', 20_000),
          fixedIngress('second', 20_002),
          cluster('a', { ingresses: [{ ingressRef: { name: 'first' } }] }),
        ],
        spec: { ingresses: [{ ingressRef: { name: 'second' } }] },
        type: 'Accepted',
        reason: 'Invalid',
        message: /port 20002 is used by a\/first/,
      },
      {
        name: 'two clusters on one port',
        given: [
          object(KafkaProxyIngress, 'fixed', {
            spec: { proxyRef: { name: 'my-proxy' }, clusterIP: { protocol: 'TCP', bootstrapPort: 10_000 } },
          }),
          cluster('a', { ingresses: [{ ingressRef: { name: 'fixed' } }] }),
        ],
        spec: { ingresses: [{ ingressRef: { name: 'fixed' } }] },
        type: 'Accepted',
        reason: 'Invalid',
        message: /spec\.ingresses\[0\]: port 10000 is used by a\/fixed; give the ingress another bootstrapPort/,
      },
      {
        name: 'two clusters on one host name',
        given: [
          object(KafkaProxyIngress, 'same', {
            spec: {
              proxyRef: { name: 'my-proxy' },
              loadBalancer: { bootstrapAddress: 'kafka.example', advertisedBrokerAddressPattern: 'b$(nodeId).example' },
            },
          }),
          cluster('a', tls({}, 'same')),
        ],
        spec: tls({}, 'same'),
        type: 'Accepted',
        reason: 'Invalid',
        message: /kafka\.example is used by a\/same too; put \$\(virtualClusterName\)/,
      },
    ];
  for (const { name, given = [], spec, type = 'ResolvedRefs', reason, message } of cases) {
    test(`${name} is reported, and the healthy cluster is served`, () =>
      staged({ objects: [...healthy(), ...given, cluster('broken', spec)] }, async ({ client }) => {
        const found = condition(await get.cluster(client, 'broken'), type);
        assert.equal(found?.status, 'False', JSON.stringify(found));
        assert.equal(found.reason, reason);
        assert.match(found.message, message);
        const names = await clusterNames(client);
        assert.ok(names.includes('healthy') && !names.includes('broken'), String(names));
        assert.equal(condition(await get.cluster(client, 'healthy'), 'ResolvedRefs')?.status, 'True');
        assert.equal(condition(await get.cluster(client, 'healthy'), 'Accepted')?.status, 'True');
        assert.doesNotMatch(JSON.stringify((await get.cluster(client, 'broken')).status), /PRIVATE KEY/);
      }));
  }
});

describe('a fault of a leaf', () => {
  const check = (
    name: string,
    objects: KubeObject[],
    check: (client: Client) => Promise<unknown>,
    expected: { type?: string; status?: string; reason: string; message: RegExp },
  ): void => {
    void test(name, () =>
      staged({ objects: [proxy(), ...objects] }, async ({ client }) => {
        const found = condition((await check(client)) as never, expected.type ?? 'ResolvedRefs');
        assert.equal(found?.status, 'False');
        assert.equal(found.reason, expected.reason);
        assert.match(found.message, expected.message);
      }),
    );
  };
  check('a filter names a Secret that is missing', [filter({ a: { b: '${secret:nowhere:x}' } })], get.filter, {
    reason: 'InterpolatedReferencedResourcesNotFound',
    message: /spec\.configTemplate\.a\.b: secret\/nowhere in namespace default does not exist/,
  });
  check(
    'a filter names Secrets and ConfigMaps that are missing',
    [filter({ a: '${configmap:b:x}', b: '${secret:z:x}', c: '${secret:a:x}' })],
    get.filter,
    { reason: 'InterpolatedReferencedResourcesNotFound', message: /secret\/a .*secret\/z .*configmap\/b / },
  );
  check(
    'a filter names a key that is missing',
    [opaque('kms', { x: 'abcd' }), filter({ a: '${secret:kms:y}' })],
    get.filter,
    { reason: 'InvalidReferencedResource', message: /secret\/kms in namespace default has no key y/ },
  );
  check('a filter has a placeholder within text', [filter({ a: ['x ${secret:kms:y}'] })], get.filter, {
    reason: 'Invalid',
    message: /spec\.configTemplate\.a\[0\]: a placeholder must be the whole value/,
  });
  check(
    'a service has a client certificate of the wrong type',
    [opaque('c', { a: 'abc' }), service({ bootstrapServers: 'x:1', tls: { certificateRef: { name: 'c' } } })],
    get.service,
    { reason: 'InvalidReferencedResource', message: /kubernetes\.io\/tls/ },
  );
  check(
    'a service has overlapping node ids',
    [
      service({
        bootstrapServers: 'x:1',
        nodeIdRanges: [
          { name: 'a', start: 0, end: 5 },
          { name: 'b', start: 3, end: 9 },
        ],
      }),
    ],
    get.service,
    { reason: 'Invalid', message: /spec\.nodeIdRanges: b overlaps a/ },
  );
  check(
    'a service has too many node ids',
    [service({ bootstrapServers: 'x:1', nodeIdRanges: [{ start: 0, end: 100_000 }] })],
    get.service,
    { reason: 'Invalid', message: /100001 node ids/ },
  );
  for (const [servers, wrong] of [
    ['käfka:9092', /spec\.bootstrapServers: "käfka:9092" has no valid host; write host:port/],
    ['kafka:99999', /spec\.bootstrapServers: "kafka:99999" has no valid port/],
    ['a:1,kafka:0', /spec\.bootstrapServers: "kafka:0" has no valid port/],
  ] as const)
    check(
      `a service has an address that cannot be, ${servers}`,
      [service({ bootstrapServers: servers })],
      get.service,
      {
        reason: 'Invalid',
        message: wrong,
      },
    );
  check(
    'a load balancer has a host name that cannot be',
    [
      object(KafkaProxyIngress, 'tcp', {
        spec: {
          proxyRef: { name: 'my-proxy' },
          loadBalancer: { bootstrapAddress: 'kafka_1 .example', advertisedBrokerAddressPattern: 'b$(nodeId).$(x).y' },
        },
      }),
    ],
    get.ingress,
    {
      type: 'Accepted',
      reason: 'Invalid',
      message:
        /spec\.loadBalancer\.bootstrapAddress: .*has no valid host.*spec\.loadBalancer\.advertisedBrokerAddressPattern: .*may hold no token but/,
    },
  );
  check(
    'a service names Strimzi, which is not installed',
    [service({ strimziKafkaRef: { name: 'k', listenerName: 'tls' } })],
    get.service,
    { reason: 'ReferencedResourcesNotFound', message: /Strimzi is not installed.*use spec\.bootstrapServers/ },
  );
  check('an ingress names no proxy', [tcpIngress('tcp', 'nowhere')], get.ingress, {
    reason: 'ReferencedResourcesNotFound',
    message: /spec\.proxyRef: kafkaproxy\/nowhere/,
  });
  check('an ingress names no proxy, so it is not accepted', [tcpIngress('tcp', 'nowhere')], get.ingress, {
    type: 'Accepted',
    reason: 'Invalid',
    message: /nowhere/,
  });
  check(
    'an ingress asks for Routes where there are none',
    [object(KafkaProxyIngress, 'tcp', { spec: { proxyRef: { name: 'my-proxy' }, openShiftRoute: {} } })],
    get.ingress,
    { type: 'Accepted', reason: 'RequestedResourceKindNotSupported', message: /use spec\.loadBalancer/ },
  );
});

describe('a cluster that breaks while it is served', () => {
  const running = (): KubeObject[] => [
    ...healthy(),
    opaque('kms', { password: 'correct horse' }),
    filter({ password: '${secret:kms:password}' }),
    cluster('breaking', { ...tls(), filterRefs: [{ name: 'encryption' }] }),
  ];
  const ref = (name: string) => ({ namespace: NAMESPACE, name });

  const breakages: Record<string, (client: Client) => Promise<unknown>> = {
    'its certificate is deleted': (client) => client.delete(Secret, ref('server')),
    'its certificate is replaced by junk': (client) =>
      patch(client, Secret, 'server', { data: encoded({ 'tls.crt': 'junk' }) }),
    'a Secret of its filter is deleted': (client) => client.delete(Secret, ref('kms')),
    'a key of its filter is taken away': (client) => patch(client, Secret, 'kms', { data: { password: null } }),
    'its filter is deleted': (client) => client.delete(KafkaProtocolFilter, ref('encryption')),
    'its filter is spoilt': (client) =>
      patch(client, KafkaProtocolFilter, 'encryption', {
        spec: { configTemplate: { password: 'x${secret:kms:password}' } },
      }),
    'its ingress is deleted': (client) => client.delete(KafkaProxyIngress, ref('tls')),
    'its ingress changes to another protocol': (client) =>
      patch(client, KafkaProxyIngress, 'tls', { spec: { clusterIP: { protocol: 'TCP' } } }),
    'it is edited to a service that is not there': (client) =>
      patch(client, VirtualKafkaCluster, 'breaking', { spec: { targetKafkaServiceRef: { name: 'nowhere' } } }),
  };
  for (const [name, damage] of Object.entries(breakages)) {
    test(`because ${name} keeps its last good configuration, and reports it`, () =>
      staged({ objects: running() }, async ({ client, settle }) => {
        const before = await get.deployment(client);
        await damage(client);
        await settle();
        const after = await get.deployment(client);
        assert.deepEqual(after.spec?.template, before.spec?.template);
        assert.deepEqual(await clusterNames(client), ['breaking', 'healthy']);
        const broken = await get.cluster(client, 'breaking');
        assert.equal(condition(broken, 'ResolvedRefs')?.status, 'False');
        assert.equal(condition(broken, 'StaleConfig')?.status, 'True');
        assert.ok(await client.find(Service, ref('breaking-tls-bootstrap')));
        assert.match(condition(await get.proxy(client), 'StaleConfig')?.message ?? '', /breaking/);
        assert.deepEqual(
          (await get.proxy(client)).status?.clusters?.map((one) => one.name),
          ['breaking'],
        );
      }));
  }

  test('a cluster that breaks while it is served in the middle of a change keeps the running configuration, and the change follows once it is fixed', () =>
    staged({ objects: running() }, async ({ client, clock, settle }) => {
      const before = await get.deployment(client);
      for (const password of ['first', 'second', 'battery staple']) {
        await patch(client, Secret, 'kms', { data: encoded({ password }) });
        await clock.advance(500);
      }
      await client.delete(Secret, ref('kms'));
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.equal(condition(await get.proxy(client), 'StaleConfig')?.status, 'True');
      await create(client, opaque('kms', { password: 'battery staple' }));
      await settle();
      assert.notEqual(checksum(await get.deployment(client)), checksum(before));
      assert.equal(condition(await get.proxy(client), 'StaleConfig'), undefined);
    }));

  const unusable: [
    what: string,
    damage: (client: Client) => Promise<unknown>,
    fix: (client: Client) => Promise<unknown>,
  ][] = [
    [
      'its certificate is junk',
      (client) => patch(client, Secret, 'server', { data: encoded({ 'tls.crt': 'junk' }) }),
      (client) => client.update(Secret, tlsSecret('server', issued)),
    ],
    [
      'its certificate is gone',
      (client) => client.delete(Secret, ref('server')),
      (client) => create(client, tlsSecret('server', issued)),
    ],
    [
      'a Secret of its filter is gone',
      (client) => client.delete(Secret, ref('kms')),
      (client) => create(client, opaque('kms', { password: 'correct horse' })),
    ],
    [
      'its filter is gone, and then the Secret that pods mount for it',
      async (client) => {
        await client.delete(KafkaProtocolFilter, ref('encryption'));
        await client.delete(Secret, ref('kms'));
      },
      (client) => create(client, opaque('kms', { password: 'correct horse' })),
    ],
    [
      'it names a filter that is not there, and a key that pods mount is gone',
      async (client) => {
        await patch(client, VirtualKafkaCluster, 'breaking', { spec: { filterRefs: [{ name: 'nowhere' }] } });
        await patch(client, Secret, 'kms', { data: { password: null } });
      },
      (client) => patch(client, Secret, 'kms', { data: encoded({ password: 'correct horse' }) }),
    ],
    [
      'it names a certificate that is not there, and the one that pods mount is junk',
      async (client) => {
        const tls = { certificateRef: { name: 'nowhere', kind: 'Secret', group: '' } };
        await patch(client, VirtualKafkaCluster, 'breaking', {
          spec: { ingresses: [{ ingressRef: { name: 'tls' }, tls }] },
        });
        await patch(client, Secret, 'server', { data: encoded({ 'tls.crt': 'junk' }) });
      },
      (client) => client.update(Secret, tlsSecret('server', issued)),
    ],
  ];
  for (const [what, damage, fix] of unusable)
    test(`holds a change of another cluster while ${what}, since pods would not start`, () =>
      staged({ objects: running() }, async (stage) => {
        const { client, settle } = stage;
        const before = await get.deployment(client);
        await damage(client);
        await settle();
        await create(client, service({ bootstrapServers: 'other.example:9092' }, 'other'));
        await patch(client, VirtualKafkaCluster, 'healthy', { spec: { targetKafkaServiceRef: { name: 'other' } } });
        await settle();
        assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
        const held = condition(await get.cluster(client, 'healthy'), 'RolloutHeld');
        assert.equal(held?.reason, 'WaitsForCluster');
        assert.match(
          held.message,
          /waits for the virtual cluster breaking, whose secret\/(?:server|kms) in namespace default is missing or cannot be used.*fix that, remove the cluster, or set spec\.isolation/,
        );
        assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'Held');
        assert.equal(condition(await get.cluster(client, 'breaking'), 'RolloutHeld'), undefined);
        assert.equal(condition(await get.cluster(client, 'breaking'), 'ResolvedRefs')?.status, 'False');
        await stage.restart();
        assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
        await fix(client);
        await stage.settle();
        assert.match(await configurationOf(client), /other\.example/);
        assert.equal(condition(await get.cluster(client, 'healthy'), 'RolloutHeld'), undefined);
      }));

  test('holds a change also after a rollback by the user', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const first = await get.deployment(client);
      await patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: 'third.example:9092' } });
      await settle();
      await patch(client, Deployment, 'my-proxy', { spec: { template: first.spec?.template } });
      await settle();
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'RolledBack');
      await client.delete(Secret, ref('server'));
      await settle();
      await patch(client, VirtualKafkaCluster, 'healthy', { spec: { targetKafkaServiceRef: { name: 'other' } } });
      await create(client, service({ bootstrapServers: 'other.example:9092' }, 'other'));
      await settle();
      assert.equal(checksum(await get.deployment(client)), checksum(first));
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'Held');
      await create(client, tlsSecret('server', issued));
      await settle();
      assert.match(await configurationOf(client), /other\.example/);
    }));

  test('holds a change of the pods until the broken cluster is deleted', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const before = await get.deployment(client);
      await client.delete(Secret, ref('server'));
      await settle();
      await patch(client, KafkaProxy, 'my-proxy', { spec: { infrastructure: { pod: { labels: { team: 'a' } } } } });
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.equal(condition(await get.proxy(client), 'Ready')?.reason, 'Held');
      await patch(client, KafkaProxy, 'my-proxy', { spec: { infrastructure: null, replicas: 3 } });
      await settle();
      assert.equal((await get.deployment(client)).spec?.replicas, 3, 'a number of pods rolls nothing');
      await patch(client, KafkaProxy, 'my-proxy', { spec: { infrastructure: { pod: { labels: { team: 'a' } } } } });
      await client.delete(VirtualKafkaCluster, ref('breaking'));
      await settle();
      assert.equal((await get.deployment(client)).spec?.template.metadata?.labels?.['team'], 'a');
    }));

  test('and runs an unknown configuration blocks all rollouts until it is fixed, and this is reported', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const before = await get.deployment(client);
      // Act as if another configuration had been rolled out meanwhile.
      const clusters = before.metadata.annotations?.[CLUSTERS_ANNOTATION]?.replace(
        /breaking=\w+/,
        'breaking=0123456789abcdef',
      );
      await client.delete(Secret, ref('kms'));
      await patch(client, Deployment, 'my-proxy', { metadata: { annotations: { [CLUSTERS_ANNOTATION]: clusters } } });
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      const held = condition(await get.proxy(client), 'Ready');
      assert.equal(held?.reason, 'Held');
      assert.match(held.message, /breaking became invalid during a change.*fix or delete it/);
      await create(client, opaque('kms', { password: 'third' }));
      await settle();
      assert.notEqual(checksum(await get.deployment(client)), checksum(before));
    }));

  test('does not hold changes of other clusters while all mounted objects exist', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      await client.delete(KafkaProtocolFilter, ref('encryption'));
      await settle();
      const before = checksum(await get.deployment(client));
      await patch(client, KafkaService, 'upstream', { spec: { bootstrapServers: 'other.example:9092' } });
      await settle();
      assert.notEqual(checksum(await get.deployment(client)), before);
      const { virtualClusters } = parse(await configurationOf(client)) as ProxyConfiguration;
      assert.deepEqual(
        virtualClusters.map(({ name, targetCluster }) => [name, targetCluster.bootstrapServers]),
        [
          ['breaking', 'kafka.example:9092'],
          ['healthy', 'other.example:9092'],
        ],
      );
    }));

  test('reports no configuration in force once its proxy is deleted, and is served again by a proxy of that name', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      await client.delete(KafkaProxy, ref('my-proxy'));
      await settle();
      const left = await get.cluster(client, 'breaking');
      assert.equal(condition(left, 'StaleConfig'), undefined);
      assert.match(
        condition(left, 'ResolvedRefs')?.message ?? '',
        /^spec\.proxyRef: kafkaproxy\/my-proxy .* does not exist/,
      );
      await create(client, proxy());
      await settle();
      assert.equal(condition(await get.cluster(client, 'breaking'), 'ResolvedRefs')?.status, 'True');
      assert.ok((await clusterNames(client)).includes('breaking'));
    }));

  test('disappears when it is deleted, broken or not', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      await client.delete(Secret, ref('server'));
      await settle();
      await client.delete(VirtualKafkaCluster, ref('breaking'));
      await settle();
      assert.deepEqual(await clusterNames(client), ['healthy']);
      assert.equal(condition(await get.proxy(client), 'StaleConfig'), undefined);
    }));

  test('keeps its configuration over a restart of the operator', () =>
    staged({ objects: running() }, async (stage) => {
      const before = await get.deployment(stage.client);
      await stage.client.delete(KafkaProtocolFilter, ref('encryption'));
      await stage.restart();
      assert.deepEqual((await get.deployment(stage.client)).spec?.template, before.spec?.template);
      assert.equal(condition(await get.cluster(stage.client, 'breaking'), 'StaleConfig')?.status, 'True');
    }));

  test('recovers without a rollout when its missing object is back', () =>
    staged({ objects: running() }, async ({ client, settle }) => {
      const before = await get.deployment(client);
      await client.delete(Secret, ref('server'));
      await settle();
      await create(client, tlsSecret('server', issued));
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.equal(condition(await get.cluster(client, 'breaking'), 'StaleConfig'), undefined);
      assert.equal(condition(await get.cluster(client, 'breaking'), 'ResolvedRefs')?.status, 'True');
    }));

  test('does not remove the proxy, even if all clusters break at once', () =>
    staged({ objects: [proxy(), service(), tcpIngress(), cluster('only')] }, async ({ client, settle }) => {
      const before = await get.deployment(client);
      await client.delete(KafkaService, ref('upstream'));
      await settle();
      assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
      assert.ok(await client.find(ConfigMap, ref(before.spec?.template.spec?.volumes?.[0]?.configMap?.name ?? '')));
    }));
});

test('a name that the proxy does not accept is reported with its path', () =>
  staged({ objects: [...healthy(), cluster('with.dots')] }, async ({ client }) => {
    const reported = condition(await get.cluster(client, 'with.dots'), 'Accepted');
    assert.equal(reported?.status, 'False');
    assert.match(reported.message, /^metadata\.name: "with\.dots" must be a DNS label/);
    assert.deepEqual(await clusterNames(client), ['healthy']);
  }));

test('the longest names and the largest node ids fit', () => {
  const name = 'c'.repeat(48);
  const ids = { start: 2_147_483_640, end: 2_147_483_647 };
  const objects = [
    ...healthy(),
    service({ bootstrapServers: '[fd00::1]:9092', nodeIdRanges: [ids] }, `s${'.x'.repeat(120)}`),
    cluster(name, { ...tls(), targetKafkaServiceRef: { name: `s${'.x'.repeat(120)}` } }),
  ];
  return staged({ objects }, async ({ client }) => {
    assert.equal(condition(await get.cluster(client, name), 'Accepted')?.status, 'True');
    assert.ok(await client.find(Service, { namespace: NAMESPACE, name: `${name}-tls-2147483647` }));
    assert.ok((await clusterNames(client)).includes(name));
  });
});

test('an expired certificate gives a warning when it expires, and is still served', async () => {
  await staged({ objects: healthy() }, async ({ client, clock, settle }) => {
    const expiry = `${new Date(clock.now() + 600_000).toISOString().slice(0, 19)}Z`;
    const short = tlsSecret('short', await certificate(expiry));
    await create(client, short, cluster('tls', tls({ certificateRef: { name: 'short' } })));
    await settle();
    const before = await get.deployment(client);
    assert.equal(condition(await get.cluster(client, 'tls'), 'Warning'), undefined);
    await clock.advance(Date.parse(expiry) + 1000 - clock.now());
    await settle();
    const warned = await get.cluster(client, 'tls');
    assert.equal(condition(warned, 'Warning')?.reason, 'CertificateExpired');
    const message = condition(warned, 'Warning')?.message ?? '';
    assert.match(
      message,
      /^spec\.ingresses\[0\]\.tls\.certificateRef: the certificate in secret\/short .* expired at /,
    );
    assert.ok(message.endsWith(` expired at ${expiry}; renew it`), message);
    assert.equal(condition(warned, 'ResolvedRefs')?.status, 'True');
    assert.deepEqual((await get.deployment(client)).spec?.template, before.spec?.template);
  });
});

test('settings that the proxy accepts and ignores give a warning', () => {
  const encrypted = Buffer.from('308209d302010306092a864886f70d010706', 'hex').toString('base64');
  const objects: KubeObject[] = [
    ...healthy(),
    { ...object(Secret, 'store'), type: 'Opaque', data: { 'ca.p12': encrypted } } as KubeObject,
    service(
      {
        bootstrapServers: 'kafka.example:9093',
        tls: { trustAnchorRef: { kind: 'Secret', name: 'store', key: 'ca.p12' } },
      },
      'encrypted',
    ),
    cluster('open', tls({ tlsClientAuthentication: 'REQUIRED' })),
    cluster('none', tls({ tlsClientAuthentication: 'NONE' })),
    cluster('empty', tls({ trustAnchorRef: { kind: 'Secret', name: 'store', key: 'ca.p12' } })),
  ];
  return staged({ objects }, async ({ client }) => {
    const onService = condition(await get.service(client, 'encrypted'), 'Warning');
    assert.equal(onService?.reason, 'TrustStoreEmpty');
    assert.match(
      onService.message,
      /^spec\.tls\.trustAnchorRef: key ca\.p12 of secret\/store .*no certificate is trusted; create it/,
    );
    const onCluster = condition(await get.cluster(client, 'empty'), 'Warning');
    assert.equal(onCluster?.reason, 'TrustStoreEmpty');
    assert.match(onCluster.message, /^spec\.ingresses\[0\]\.tls\.trustAnchorRef: /);
    const open = condition(await get.cluster(client, 'open'), 'Warning');
    assert.equal(open?.reason, 'ClientAuthenticationOff');
    assert.match(
      open.message,
      /tlsClientAuthentication: REQUIRED has no effect .*add tls\.trustAnchorRef, or set NONE$/,
    );
    assert.equal(condition(await get.cluster(client, 'none'), 'Warning'), undefined);
    for (const name of ['open', 'none', 'empty']) assert.ok((await clusterNames(client)).includes(name), name);
  });
});

test('names that are too long for their Services are reported before the server refuses a Service', () => {
  const name = 'c'.repeat(50);
  const objects = [...healthy(), cluster(name)].map((one) => ({
    ...one,
    metadata: { ...one.metadata, uid: `uid of ${one.metadata.name}`, generation: 1 },
  }));
  const evaluations = evaluate({
    operator: createKroxylicious(),
    objects,
    clock: systemClock,
    unknown: ['Kafka.kafka.strimzi.io'],
  });
  const found = evaluations.find(({ key }) => key === `${NAMESPACE}/${name}`);
  assert.ok(found?.plan.state === 'value');
  const reported = found.plan.value.conditions.find(({ type }) => type === 'Accepted');
  assert.equal(reported?.reason, 'Invalid');
  assert.match(reported.message, /spec\.ingresses\[0\]\.ingressRef: the Service .* too long a name.*shorten one/);
});
