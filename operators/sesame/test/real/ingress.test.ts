// Ingress and TCP proxies through a real Envoy.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { createServer as createTls } from 'node:https';
import { suite, test } from 'node:test';
import { createCa, Ingress, issueCertificate } from '@capstan/kube';
import { missingEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';
import { createIngressStage, listen } from './ingress-stage.ts';

const skip = missingEnvoy();

function ingress(name: string, spec: NonNullable<Ingress['spec']>, annotations: Record<string, string> = {}): Ingress {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name, namespace: 'default', annotations },
    spec,
  };
}

const backend = (name: string) => ({ service: { name, port: { number: 80 } } });
const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };

suite('Ingress and TCP through a real Envoy', { skip }, () => {
  test('paths, the default backend, wildcards and a missing Service', async (context) => {
    const stage = await createIngressStage(context, 'ads');
    for (const name of ['shop', 'other']) await stage.backend(name, (_, response) => response.end(name));
    await stage.client.create(
      Ingress,
      ingress('web', {
        defaultBackend: backend('other'),
        rules: [
          {
            host: 'shop.test',
            http: {
              paths: [
                { path: '/exact', pathType: 'Exact', backend: backend('shop') },
                { path: '/seg/', pathType: 'Prefix', backend: backend('shop') },
                { path: '/bad', pathType: 'Prefix', backend: backend('missing') },
              ],
            },
          },
          { host: '*.wild.test', http: { paths: [{ path: '/', pathType: 'Prefix', backend: backend('shop') }] } },
        ],
      }),
    );
    await stage.stage.settle();
    const get = async (host: string, path: string) => {
      const { status, body } = await send({ port: stage.httpPort, host, path });
      return status === 200 ? body : status;
    };
    await waitFor(async () => (await get('shop.test', '/exact')) === 'shop', `the rule; ${stage.refusals().join()}`);
    assert.equal(await get('shop.test', '/exactly'), 404);
    assert.equal(await get('shop.test', '/seg'), 'shop');
    assert.equal(await get('shop.test', '/seg/x'), 'shop');
    assert.equal(await get('shop.test', '/segment'), 404);
    assert.equal(await get('shop.test', '/bad/x'), 503);
    assert.equal(await get('anything.test', '/'), 'other');
    assert.equal(await get('a.wild.test', '/'), 'shop');
    assert.equal(await get('a.b.wild.test', '/'), 404);
    assert.deepEqual(stage.events, [
      'Ingress IngressNotValid: spec.rules: Service default/missing does not exist; create it or correct the backend',
    ]);
    assert.deepEqual(stage.refusals(), []);
  });

  test('TLS that is passed through reaches the service by the name that the client asks for', async (context) => {
    const stage = await createIngressStage(context, 'grpc');
    const ca = await createCa({ commonName: 'test', ...validity });
    const issued = await issueCertificate({
      ca,
      commonName: 'own',
      dnsNames: ['own.test'],
      usages: ['server'],
      ...validity,
    });
    const server = createTls({ cert: issued.certificate, key: issued.key }, (_, response) => response.end('own TLS'));
    await stage.service('own', await listen(context, server, () => server.closeAllConnections()));
    await stage.proxy('own', {
      virtualhost: { fqdn: 'own.test', tls: { passthrough: true } },
      tcpproxy: { services: [{ name: 'own', port: 80 }] },
    });
    const get = () => send({ port: stage.httpsPort, host: 'own.test', tls: { ca: ca.certificate } });
    await waitFor(async () => (await get()).body === 'own TLS', `the passthrough; ${stage.refusals().join()}`);
    assert.deepEqual(stage.refusals(), []);
  });
});
