// Ingress, TCP proxies and changes under load, through a real Envoy.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { createServer as createTls } from 'node:https';
import { suite, test } from 'node:test';
import { createCa, Ingress, issueCertificate } from '@capstan/kube';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
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
    assert.equal(await get('anything.test', '/'), 'other');
    assert.equal(await get('a.wild.test', '/'), 'shop');
    assert.equal(await get('a.b.wild.test', '/'), 404);
    assert.deepEqual(stage.events, [
      'Ingress IngressNotValid: Service default/missing does not exist; create it or correct the backend',
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

  for (const mode of ['grpc', 'delta-ads'] as const) {
    test(`${mode}: no request fails while routes move between services and hosts come and go`, async (context) => {
      const stage = await createIngressStage(context, mode);
      for (const name of ['one', 'two', 'three']) await stage.backend(name, (_, response) => response.end(name));
      const spec = (service: string, turn: number): HTTPProxy['spec'] => ({
        virtualhost: { fqdn: 'load.test' },
        routes: [
          {
            services: [{ name: service, port: 80, ...(turn % 3 === 0 && { weight: turn + 1 }) }],
            timeoutPolicy: { response: `${10 + (turn % 7)}s` },
          },
        ],
      });
      await stage.proxy('load', spec('one', 0));
      await waitFor(
        async () => (await send({ port: stage.httpPort, host: 'load.test' })).status === 200,
        'the first answer',
      );
      let isOver = false;
      const answers = new Map<string, number>();
      const load = Promise.all(
        [1, 2, 3].map(async () => {
          while (!isOver) {
            const { status, body } = await send({ port: stage.httpPort, host: 'load.test' });
            const answer = status === 200 ? '200' : `${status} ${body}`;
            answers.set(answer, (answers.get(answer) ?? 0) + 1);
          }
        }),
      );
      for (let turn = 1; turn <= 60; turn += 1) {
        const name = ['one', 'two', 'three'][turn % 3] ?? 'one';
        await stage.client.patch(HTTPProxy, { namespace: 'default', name: 'load' }, 'merge', {
          spec: spec(name, turn),
        });
        if (turn % 10 === 0)
          await stage.proxy(`extra-${turn}`, {
            virtualhost: { fqdn: `extra-${turn}.test` },
            routes: [{ services: [{ name: 'one', port: 80 }] }],
          });
        await stage.stage.settle();
      }
      isOver = true;
      await load;
      assert.deepEqual([...answers.keys()], ['200'], `answers: ${JSON.stringify([...answers])}`);
      assert.deepEqual(stage.refusals(), []);
    });
  }
});
