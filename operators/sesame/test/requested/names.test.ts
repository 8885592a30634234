// The names of HTTPProxies through a real Envoy: several on one object, every other one, and connections that clients reuse for another name.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { suite, type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { createAuthority, tlsData } from '../real/certificates.ts';
import { missingEnvoy, waitFor } from '../real/envoy.ts';
import { send } from '../real/http-client.ts';
import { createIngressStage } from '../real/ingress-stage.ts';

const shop = { name: 'shop', port: 80 };
const answers = (body: string) => [{ directResponsePolicy: { statusCode: 200, body } }];

suite('names of HTTPProxies through a real Envoy', { skip: missingEnvoy() }, () => {
  for (const mode of ['ads', 'delta-ads'] as const)
    test(`several names and every other one are served (${mode})`, async (context) => {
      const stage = await createIngressStage(context, mode);
      await stage.backend('shop', (request, response) => response.end(`shop ${request.headers.host ?? ''}`));
      const get = async (host: string) => {
        const { status, body } = await send({ port: stage.httpPort, host });
        return status === 200 ? body : status;
      };
      await stage.proxy('shop', {
        virtualhost: { fqdn: 'shop.test', fqdns: ['store.test', '*.shops.test'] },
        routes: [{ services: [shop] }],
      });
      await waitFor(async () => (await get('store.test')) === 'shop store.test', 'the second name');
      assert.equal(await get('shop.test'), 'shop shop.test');
      assert.equal(await get('a.shops.test'), 'shop a.shops.test');
      assert.equal(await get('any.test'), 404);

      await stage.proxy('any', { virtualhost: { fqdn: '*' }, routes: answers('any') });
      await waitFor(async () => (await get('any.test')) === 'any', 'the wildcard');
      assert.equal(await get('shop.test'), 'shop shop.test');

      await stage.client.patch(HTTPProxy, { namespace: 'default', name: 'shop' }, 'merge', {
        spec: { virtualhost: { fqdns: ['market.test'] } },
      });
      await waitFor(async () => (await get('market.test')) === 'shop market.test', 'the new name');
      await waitFor(async () => (await get('store.test')) === 'any', 'a name that is free again');

      await stage.proxy('closed', {
        virtualhost: { fqdn: 'closed.test', tls: { secretName: 'missing' } },
        routes: answers('closed'),
      });
      await waitFor(async () => (await get('closed.test')) === 404, 'a host that is not valid is closed');
      assert.deepEqual(stage.refusals(), []);
    });

  test('a request for another name on the same HTTP/2 connection is answered with 421', async (context) => {
    const stage = await createIngressStage(context, 'delta-ads');
    const authority = await createAuthority();
    const wildcard = await authority.issue('*.test');
    await stage.secret('wildcard', tlsData(wildcard));
    await stage.backend('shop', (_, response) => response.end('shop'));
    const tls = { secretName: 'wildcard' };
    await stage.proxy('one', { virtualhost: { fqdn: 'one.test', tls }, routes: answers('one') });
    await stage.proxy('two', { virtualhost: { fqdn: 'two.test', tls }, routes: answers('two') });
    await stage.proxy('any', { virtualhost: { fqdn: '*', tls }, routes: answers('any') });
    await stage.proxy('closed', {
      virtualhost: { fqdn: 'closed.test', tls: { secretName: 'missing' } },
      routes: answers('closed'),
    });
    const ca = authority.ca.certificate;
    const ask = requestsFrom(context, stage.httpsPort, ca);
    await waitFor(
      async () =>
        (await ask('any.test', ['any.test']))[0] === 'any' && (await ask('two.test', ['two.test']))[0] === 'two',
      'the hosts',
    );
    assert.deepEqual(await ask('one.test', ['one.test', 'two.test', 'ONE.test:443']), ['one', 421, 'one']);
    assert.deepEqual(await ask('any.test', ['any.test', 'one.test', 'Any.test:8443']), ['any', 421, 'any']);
    // Without a name the connection is for every name.
    assert.deepEqual(await ask('', ['other.test']), ['any']);
    // A host that is not valid is not served by the wildcard.
    assert.deepEqual(await ask('closed.test', ['closed.test']), ['closed connection']);
    assert.deepEqual(stage.refusals(), []);
  });
});

/** Sends requests for several names over one HTTP/2 connection; the answers are bodies, or statuses other than 200. */
function requestsFrom(context: TestContext, port: number, ca: string) {
  return async (servername: string, hosts: readonly string[]): Promise<(string | number)[]> => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, {
      createConnection: () =>
        connectTls({
          host: '127.0.0.1',
          port,
          ca,
          ALPNProtocols: ['h2'],
          ...(servername !== '' && { servername }),
          checkServerIdentity: () => undefined,
        }),
    });
    const close = () => session.destroy();
    context.after(close);
    session.on('error', () => undefined);
    const answerTo = (host: string) =>
      new Promise<string | number>((resolve) => {
        const request = session.request({ ':authority': host, ':path': '/' });
        let [status, body] = [0, ''];
        request.on('response', (headers) => {
          status = headers[':status'] ?? 0;
        });
        request.on('data', (chunk) => {
          body += String(chunk);
        });
        request.on('end', () => resolve(status === 200 ? body : status));
        request.on('error', () => resolve('closed connection'));
        session.on('close', () => resolve('closed connection'));
      });
    const found: (string | number)[] = [];
    for (const host of hosts) found.push(await answerTo(host));
    close();
    return found;
  };
}
