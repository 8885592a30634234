import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, type KubeObject } from '@capstan/kube';
import { KafkaProxyIngress } from '../src/index.ts';
import { condition, filter, get, object, opaque, proxy, service, staged, tcpIngress } from './fixtures.ts';

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
