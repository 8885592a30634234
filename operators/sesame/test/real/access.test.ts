// Who may pass: tokens, authorization services, origins, addresses, client certificates, and clients that name no host.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { connect } from 'node:tls';
import type { CertificateAndKey } from '@capstan/kube';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { createAuthority, tlsData } from './certificates.ts';
import { missingEnvoy, waitFor } from './envoy.ts';
import { startAuthorization } from './extension-servers.ts';
import { type RequestOptions, send } from './http-client.ts';
import { BACKENDS, createIngressStage, listen } from './ingress-stage.ts';
import { createTokens } from './tokens.ts';

const extension = (name: string, protocol: string): ExtensionService => ({
  apiVersion: 'projectsesame.io/v1alpha1',
  kind: 'ExtensionService',
  metadata: { name, namespace: 'default' },
  spec: { services: [{ name, port: 80 }], protocol },
});

suite('access through a real Envoy', { skip: missingEnvoy() }, () => {
  test('tokens, authorization, certificates, origins and addresses', async (context) => {
    const authority = await createAuthority();
    const ca = authority.ca.certificate;
    const stage = await createIngressStage(context, 'grpc', (settings) => {
      settings.httpproxy.fallbackCertificate = { name: 'fallback', namespace: 'default' };
      settings.envoy.network.numTrustedHops = 1;
    });
    await stage.secret('fallback', tlsData(await authority.issue('fallback.test')));
    await stage.backend('web', (request, response) => response.end(JSON.stringify(request.headers)));
    const web = { name: 'web', port: 80 };
    const get = (host: string, path = '/', headers: Record<string, string> = {}) =>
      send({ port: stage.httpPort, host, path, headers });
    const secure = (
      host: string,
      path = '/',
      headers: Record<string, string> = {},
      more: Partial<RequestOptions['tls']> = {},
    ) => send({ port: stage.httpsPort, host, path, headers, tls: { ca, servername: host, ...more } });
    const certificateFor = async (name: string) => stage.secret(name, tlsData(await authority.issue(`${name}.test`)));
    const reach = (name: string, path: string, more: Partial<RequestOptions['tls']> = {}) =>
      waitFor(
        async () => (await secure(`${name}.test`, path, {}, more)).status === 200,
        `https://${name}.test${path}; ${stage.refusals().join('\n')}`,
      );
    const headersOf = ({ body }: { body: string }) => JSON.parse(body) as Record<string, string | undefined>;

    await context.test('JWT: verified by keys of a Secret and of an address', async () => {
      const [local, remote, foreign] = [createTokens(), createTokens(), createTokens()];
      const keys = createServer((_, response) => response.end(remote.jwks));
      const port = await listen(context, keys, () => keys.closeAllConnections());
      await certificateFor('jwt');
      await stage.secret('keys', { jwks: local.jwks }, 'Opaque');
      await stage.proxy('jwt', {
        virtualhost: {
          fqdn: 'jwt.test',
          tls: { secretName: 'jwt' },
          jwtProviders: [
            {
              name: 'local',
              default: true,
              issuer: 'issuer',
              audiences: ['shop'],
              localJWKS: { secretName: 'keys', key: 'jwks' },
              forwardJWT: true,
            },
            { name: 'remote', issuer: 'issuer', remoteJWKS: { uri: `http://${BACKENDS}:${port}/keys`, timeout: '2s' } },
          ],
        },
        routes: [
          { services: [web] },
          { conditions: [{ prefix: '/open' }], services: [web], jwtVerificationPolicy: { disabled: true } },
          { conditions: [{ prefix: '/remote' }], services: [web], jwtVerificationPolicy: { require: 'remote' } },
        ],
      });
      await reach('jwt', '/open');
      const claims = { iss: 'issuer', aud: 'shop', exp: Math.floor(Date.now() / 1000) + 600 };
      const status = async (path: string, token: string) =>
        (await secure('jwt.test', path, { authorization: `Bearer ${token}` })).status;
      assert.equal((await secure('jwt.test')).status, 401);
      assert.equal(await status('/', local.sign(claims)), 200);
      assert.equal(await status('/', foreign.sign(claims)), 401);
      assert.equal(await status('/', local.sign({ ...claims, exp: 1 })), 401);
      assert.equal(await status('/', local.sign({ ...claims, aud: 'other' })), 403);
      assert.equal(await status('/', local.sign({ ...claims, iss: 'other' })), 401);
      assert.equal(await status('/remote', remote.sign(claims)), 200);
      assert.equal(await status('/remote', local.sign(claims)), 401);
      const authorization = `Bearer ${local.sign(claims)}`;
      assert.equal(headersOf(await secure('jwt.test', '/', { authorization }))['authorization'], authorization);
      const forwarded = headersOf(
        await secure('jwt.test', '/remote', { authorization: `Bearer ${remote.sign(claims)}` }),
      );
      assert.equal(forwarded['authorization'], undefined);
    });

    await context.test('authorization over gRPC: asked with the context, its headers and refusals count', async () => {
      const requests: string[] = [];
      const port = await startAuthorization(context, (request) => {
        requests.push(request);
        return request.includes('let-me-in')
          ? { allow: true, headers: { 'x-user': 'ann' } }
          : { allow: false, status: 402, body: 'pay first' };
      });
      await stage.service('auth', port);
      await stage.create(ExtensionService, extension('auth', 'h2c'));
      await certificateFor('auth');
      await stage.proxy('auth', {
        virtualhost: {
          fqdn: 'auth.test',
          tls: { secretName: 'auth' },
          authorization: { extensionRef: { name: 'auth' }, authPolicy: { context: { tenant: 'of-the-host' } } },
        },
        routes: [
          { services: [web] },
          { conditions: [{ prefix: '/open' }], services: [web], authPolicy: { disabled: true } },
          { conditions: [{ prefix: '/context' }], services: [web], authPolicy: { context: { part: 'of-the-route' } } },
        ],
      });
      await reach('auth', '/open');
      const refused = await secure('auth.test');
      assert.deepEqual([refused.status, refused.body], [402, 'pay first']);
      assert.ok(requests.at(-1)?.includes('of-the-host') && !requests.at(-1)?.includes('of-the-route'));
      const allowed = await secure('auth.test', '/context', { 'x-key': 'let-me-in' });
      assert.deepEqual([allowed.status, headersOf(allowed)['x-user']], [200, 'ann']);
      assert.ok(requests.at(-1)?.includes('of-the-host') && requests.at(-1)?.includes('of-the-route'));
      // Plain HTTP redirects without a question.
      const before = requests.length;
      assert.equal((await get('auth.test')).status, 301);
      assert.equal(requests.length, before);
    });

    await context.test(
      'authorization by a service that takes its time: as long as its ExtensionService allows',
      async () => {
        const port = await startAuthorization(context, async () => {
          await new Promise((resolve) => setTimeout(resolve, 500));
          return { allow: true };
        });
        await stage.service('slow', port);
        const { spec, ...rest } = extension('slow', 'h2c');
        await stage.create(ExtensionService, { ...rest, spec: { ...spec, timeoutPolicy: { response: '20s' } } });
        const host = async (name: string, more: object) => {
          await certificateFor(name);
          const authorization = { extensionRef: { name: 'slow' }, ...more };
          await stage.proxy(name, {
            virtualhost: { fqdn: `${name}.test`, tls: { secretName: name }, authorization },
            routes: [
              { services: [web] },
              { conditions: [{ prefix: '/open' }], services: [web], authPolicy: { disabled: true } },
            ],
          });
          await reach(name, '/open');
        };
        await host('patient', {});
        assert.equal((await secure('patient.test')).status, 200);
        await host('hasty', { responseTimeout: '50ms' });
        assert.equal((await secure('hasty.test')).status, 403);
      },
    );

    await context.test('authorization over HTTP, open and closed when the service is away', async () => {
      const authorization = createServer((request, response) => {
        const isAllowed = request.headers['x-key'] === 'let-me-in' && request.url?.startsWith('/check') === true;
        response.setHeader('x-user', 'bob').setHeader('x-other', 'no');
        response.writeHead(isAllowed ? 200 : 401).end();
      });
      const port = await listen(context, authorization, () => authorization.closeAllConnections());
      await stage.service('http-auth', port);
      await stage.service('away', 1);
      await stage.create(ExtensionService, extension('http-auth', 'http/1.1'));
      await stage.create(ExtensionService, extension('away', 'h2c'));
      const host = async (name: string, spec: object) => {
        await certificateFor(name);
        await stage.proxy(name, {
          virtualhost: { fqdn: `${name}.test`, tls: { secretName: name }, authorization: spec },
          routes: [
            { services: [web] },
            { conditions: [{ prefix: '/open' }], services: [web], authPolicy: { disabled: true } },
          ],
        });
        await reach(name, '/open');
      };
      await host('over-http', {
        extensionRef: { name: 'http-auth' },
        serviceType: 'http',
        httpSettings: {
          pathPrefix: '/check',
          allowedAuthorizationHeaders: [{ exact: 'x-key' }],
          allowedUpstreamHeaders: [{ exact: 'x-user' }],
        },
      });
      assert.equal((await secure('over-http.test')).status, 401);
      const seen = headersOf(await secure('over-http.test', '/', { 'x-key': 'let-me-in' }));
      assert.deepEqual([seen['x-user'], seen['x-other']], ['bob', undefined]);
      await host('closed', { extensionRef: { name: 'away' }, responseTimeout: '500ms' });
      assert.equal((await secure('closed.test')).status, 403);
      await host('opened', { extensionRef: { name: 'away' }, responseTimeout: '500ms', failOpen: true });
      assert.equal((await secure('opened.test')).status, 200);
    });

    await context.test('client certificates: required, optional, forwarded, revoked', async () => {
      const [client, revoked] = [await authority.issue('client.test'), await authority.issue('revoked.test')];
      const foreign = await (await createAuthority('foreign')).issue('foreign.test');
      const shown = ({ certificate: cert, key }: CertificateAndKey) => ({ cert, key });
      await stage.secret('client-ca', { 'ca.crt': ca }, 'Opaque');
      await stage.secret('crl', { 'crl.pem': revocationList(authority.ca, revoked) }, 'Opaque');
      const host = async (name: string, clientValidation: object) => {
        await certificateFor(name);
        await stage.proxy(name, {
          virtualhost: { fqdn: `${name}.test`, tls: { secretName: name, clientValidation } },
          routes: [{ services: [web] }],
        });
        await reach(name, '/', shown(client));
      };
      const status = async (name: string, certificate?: CertificateAndKey) =>
        (await secure(`${name}.test`, '/', {}, certificate ? shown(certificate) : {})).status;
      await host('required', { caSecret: 'client-ca', forwardClientCertificate: { subject: true, dns: true } });
      assert.equal(await status('required'), 0);
      assert.equal(await status('required', foreign), 0);
      const forwarded = headersOf(await secure('required.test', '/', {}, shown(client)))['x-forwarded-client-cert'];
      assert.match(forwarded ?? '', /Subject="CN=client\.test".*DNS=client\.test/);
      await host('optional', { caSecret: 'client-ca', optionalClientCertificate: true });
      assert.equal(await status('optional'), 200);
      assert.equal(await status('optional', foreign), 0);
      await host('unverified', { skipClientCertValidation: true });
      assert.equal(await status('unverified', foreign), 200);
      await host('revoking', { caSecret: 'client-ca', crlSecret: 'crl', crlOnlyVerifyLeafCert: true });
      assert.equal(await status('revoking', revoked), 0);
    });

    await context.test('clients without SNI get the fallback certificate, and the hosts that allow it', async () => {
      await certificateFor('lenient');
      await stage.proxy('lenient', {
        virtualhost: { fqdn: 'lenient.test', tls: { secretName: 'lenient', enableFallbackCertificate: true } },
        routes: [{ services: [web] }],
      });
      await reach('lenient', '/');
      const without = (host: string) =>
        new Promise<string>((resolve) => {
          let answer = '';
          const options = { host: '127.0.0.1', port: stage.httpsPort, rejectUnauthorized: false };
          const socket = connect(options, () => {
            answer = `${String(socket.getPeerCertificate().subject.CN)} `;
            socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
          });
          socket.on('data', (data) => (answer += String(data)));
          socket.on('close', () => resolve(/^\S+ HTTP\/1.1 \d+/.exec(answer)?.[0] ?? answer));
          socket.on('error', () => undefined);
        });
      await waitFor(async () => (await without('lenient.test')) === 'fallback.test HTTP/1.1 200', 'the fallback');
      assert.equal(await without('jwt.test'), 'fallback.test HTTP/1.1 404');
    });

    await context.test('CORS: allowed origins get the headers, others do not', async () => {
      await stage.proxy('cors', {
        virtualhost: {
          fqdn: 'cors.test',
          corsPolicy: {
            allowOrigin: ['https://shop.test', 'https://[a-z]+[.]team[.]test'],
            allowMethods: ['GET', 'PUT'],
            allowHeaders: ['x-token'],
            exposeHeaders: ['x-total'],
            maxAge: '10m',
            allowCredentials: true,
          },
        },
        routes: [{ services: [web] }],
      });
      await waitFor(async () => (await get('cors.test')).status === 200, 'the host');
      const preflight = (origin: string) =>
        send({
          port: stage.httpPort,
          host: 'cors.test',
          method: 'OPTIONS',
          headers: { origin, 'access-control-request-method': 'PUT' },
        });
      const { headers } = await preflight('https://shop.test');
      assert.deepEqual(
        ['allow-origin', 'allow-methods', 'allow-headers', 'max-age', 'allow-credentials'].map(
          (name) => headers[`access-control-${name}`],
        ),
        ['https://shop.test', 'GET,PUT', 'x-token', '600', 'true'],
      );
      const origin = async (from: string) =>
        (await get('cors.test', '/', { origin: from })).headers['access-control-allow-origin'];
      assert.equal(await origin('https://blue.team.test'), 'https://blue.team.test');
      assert.equal(await origin('https://blue.team.test.evil'), undefined);
      const answer = await get('cors.test', '/', { origin: 'https://shop.test' });
      assert.equal(answer.headers['access-control-expose-headers'], 'x-total');
    });

    await context.test('addresses: of the connection and of the client behind proxies', async () => {
      const rule = (source: string, cidr: string) => [{ source, cidr }];
      await stage.proxy('addresses', {
        virtualhost: { fqdn: 'addresses.test', ipAllowPolicy: rule('Remote', '10.1.0.0/16') },
        routes: [
          { services: [web] },
          { conditions: [{ prefix: '/peer' }], services: [web], ipAllowPolicy: rule('Peer', '127.0.0.0/8') },
          { conditions: [{ prefix: '/denied' }], services: [web], ipDenyPolicy: rule('Peer', '127.0.0.1') },
        ],
      });
      await waitFor(async () => (await get('addresses.test', '/peer')).status === 200, 'the host');
      const from = async (address: string) => (await get('addresses.test', '/', { 'x-forwarded-for': address })).status;
      assert.equal(await from('10.1.2.3'), 200);
      assert.equal(await from('10.2.2.3'), 403);
      // Only as many hops are trusted as configured.
      assert.equal(await from('10.1.2.3, 10.2.2.3'), 403);
      assert.equal((await get('addresses.test', '/denied')).status, 403);
    });
  });
});

/** Created by openssl: Node has no function for it. */
function revocationList(ca: CertificateAndKey, revoked: CertificateAndKey): string {
  const folder = mkdtempSync(join(tmpdir(), 'sesame-crl-'));
  const at = (name: string) => join(folder, name);
  try {
    writeFileSync(at('ca.crt'), ca.certificate);
    writeFileSync(at('ca.key'), ca.key, { mode: 0o600 });
    writeFileSync(at('revoked.crt'), revoked.certificate);
    writeFileSync(at('index.txt'), '');
    writeFileSync(at('number'), '01');
    const config = `[ca]\ndefault_ca=one\n[one]\ndatabase=${at('index.txt')}\ncrlnumber=${at('number')}\ndefault_md=sha256\n`;
    writeFileSync(at('config'), config);
    const common = ['ca', '-config', at('config'), '-cert', at('ca.crt'), '-keyfile', at('ca.key')];
    const run = (...args: string[]) => execFileSync('openssl', [...common, ...args], { stdio: 'ignore' });
    run('-revoke', at('revoked.crt'));
    run('-gencrl', '-crldays', '1', '-out', at('crl.pem'));
    return readFileSync(at('crl.pem'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
