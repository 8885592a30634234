// Bad input gives a condition on the faulty resource, with the path and the remedy, and healthy clusters stay up.
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { describe, test } from 'node:test';
import { type KubeObject, Secret, Service, systemClock } from '@capstan/kube';
import { evaluate } from '@capstan/reconcile';
import { createKroxylicious, KafkaProxyIngress } from '../src/index.ts';
import { clusterNames, healthy, issued, other, tls } from './faults.test-support.ts';
import {
  certificate,
  cluster,
  condition,
  configMap,
  create,
  filter,
  get,
  NAMESPACE,
  object,
  opaque,
  proxy,
  service,
  staged,
  tcpIngress,
  tlsSecret,
} from './fixtures.ts';

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
