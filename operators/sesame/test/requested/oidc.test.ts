// Logins by OpenID Connect through a real Envoy, with a small provider.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:https';
import { suite, test } from 'node:test';
import { Secret } from '@capstan/kube';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { createAuthority, tlsData } from '../real/certificates.ts';
import { missingEnvoy, waitFor } from '../real/envoy.ts';
import { type Answer, send } from '../real/http-client.ts';
import { BACKENDS, createIngressStage, listen } from '../real/ingress-stage.ts';

const CLIENT_SECRET = 'known to the provider & to Envoy';

suite('logins through a real Envoy', { skip: missingEnvoy() }, () => {
  test('clients log in at the provider, and nothing is served without a session', async (context) => {
    const stage = await createIngressStage(context, 'delta-ads');
    const authority = await createAuthority();
    const ca = authority.ca.certificate;
    const { certificate: cert, key } = await authority.issue('login.test');
    const asked: URLSearchParams[] = [];
    let isAway = false;
    const provider = createServer({ cert, key }, (request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += String(chunk)));
      request.on('end', () => {
        const form = new URLSearchParams(body);
        asked.push(form);
        const isKnown = form.get('client_secret') === CLIENT_SECRET && form.get('code') === 'good';
        response.writeHead(isAway ? 500 : isKnown ? 200 : 401, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ access_token: 'token-of-ann', token_type: 'Bearer', expires_in: 600 }));
      });
    });
    const port = await listen(context, provider, () => provider.closeAllConnections());
    await stage.backend('shop', (request, response) => response.end(JSON.stringify(request.headers)));
    await stage.secret('cert', tlsData(await authority.issue('shop.test')));
    await stage.secret('ca', { 'ca.crt': ca }, 'Opaque');
    const hmac = randomBytes(32).toString('hex');
    await stage.secret('login', { 'client-secret': CLIENT_SECRET, 'hmac-secret': hmac }, 'Opaque');
    const services = [{ name: 'shop', port: 80 }];
    await stage.proxy('shop', {
      virtualhost: {
        fqdn: 'shop.test',
        tls: { secretName: 'cert' },
        oidc: {
          authorizationEndpoint: 'https://login.test/authorize?prompt=login',
          tokenEndpoint: {
            uri: `https://${BACKENDS}:${port}/token`,
            validation: { caSecret: 'ca', subjectName: 'login.test' },
          },
          clientID: 'the-shop',
          secretName: 'login',
          scopes: ['openid', 'email'],
          forwardAccessToken: true,
        },
      },
      routes: [
        { services },
        { conditions: [{ prefix: '/open' }], services, permitInsecure: true, oidcPolicy: { disabled: true } },
        { conditions: [{ prefix: '/insecure' }], services, permitInsecure: true },
      ],
    });
    const ask = (path: string, cookies: Cookies = new Map()) =>
      send({ port: stage.httpsPort, host: 'shop.test', path, tls: { ca }, headers: { cookie: cookieText(cookies) } });
    await waitFor(async () => (await ask('/open')).status === 200, 'the open route');

    const first = await ask('/cart?item=1');
    assert.equal(first.status, 302);
    const login = new URL(first.headers.location ?? '');
    const query = (name: string) => login.searchParams.get(name) ?? '';
    assert.deepEqual(
      [login.host, login.pathname, query('prompt'), query('client_id'), query('scope'), query('redirect_uri')],
      ['login.test', '/authorize', 'login', 'the-shop', 'openid email', 'https://shop.test/oauth2/callback'],
    );
    const cookies: Cookies = new Map();
    keep(cookies, first);
    const state = encodeURIComponent(query('state'));
    // Neither a code that the provider does not know, nor a state that the client did not get, makes a session.
    assert.equal((await ask(`/oauth2/callback?code=bad&state=${state}`, cookies)).status, 401);
    assert.equal((await ask(`/oauth2/callback?code=good&state=${state}`)).status, 401);
    isAway = true;
    assert.equal((await ask(`/oauth2/callback?code=good&state=${state}`, cookies)).status, 401);
    isAway = false;
    const back = await ask(`/oauth2/callback?code=good&state=${state}`, cookies);
    assert.deepEqual([back.status, back.headers.location], [302, 'https://shop.test/cart?item=1']);
    assert.equal(asked.at(-1)?.get('redirect_uri'), 'https://shop.test/oauth2/callback');
    keep(cookies, back);
    const served = await ask('/cart?item=1', cookies);
    assert.equal(served.status, 200);
    const seen = JSON.parse(served.body) as Record<string, string>;
    assert.equal(seen['authorization'], 'Bearer token-of-ann');
    const session: Cookies = new Map(cookies);
    // A session that was changed is none.
    const forged: Cookies = new Map([...cookies].map(([name, value]) => [name, /hmac/i.test(name) ? 'forged' : value]));
    assert.equal((await ask('/', forged)).status, 302);
    // Plain HTTP does not go around the login.
    assert.equal((await send({ port: stage.httpPort, host: 'shop.test', path: '/insecure' })).status, 301);
    assert.equal((await send({ port: stage.httpPort, host: 'shop.test', path: '/open' })).status, 200);
    const logout = await ask('/oauth2/logout', cookies);
    assert.equal(logout.status, 302);
    keep(cookies, logout);
    assert.equal((await ask('/', cookies)).status, 302);

    // Another key ends sessions, without a restart.
    assert.equal((await ask('/', session)).status, 200);
    const other = randomBytes(32).toString('base64');
    const data = { 'hmac-secret': other };
    await stage.client.patch(Secret, { namespace: 'default', name: 'login' }, 'merge', { data });
    await waitFor(async () => (await ask('/', session)).status === 302, 'the end of the session');

    // Without its keys the host is not served at all.
    await stage.client.delete(Secret, { namespace: 'default', name: 'login' });
    await waitFor(async () => (await ask('/open')).status !== 200, 'the host to be closed');
    assert.notEqual((await ask('/')).status, 200);
    const shop = await stage.client.get(HTTPProxy, { namespace: 'default', name: 'shop' });
    assert.match(JSON.stringify(shop), /OIDCSecretInvalid/);
    assert.doesNotMatch(JSON.stringify(shop), new RegExp(`${CLIENT_SECRET}|${hmac}`));
    assert.deepEqual(stage.refusals(), []);
  });
});

type Cookies = Map<string, string>;

/** Keeps the cookies of an answer, and drops those that have expired. */
function keep(cookies: Cookies, { headers }: Answer): void {
  for (const line of headers['set-cookie'] ?? []) {
    const [pair = '', ...attributes] = line.split(';');
    const at = pair.indexOf('=');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    if (attributes.some((each) => /^ ?(max-age=0|expires=thu, 01.jan.1970)/i.test(each))) cookies.delete(name);
    else cookies.set(name, value);
    assert.ok(attributes.some((each) => / ?secure/i.test(each)) || cookies.get(name) === undefined, line);
  }
}

function cookieText(cookies: Cookies): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}
