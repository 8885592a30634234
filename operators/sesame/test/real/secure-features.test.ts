// Features that need TLS or a service that Envoy calls itself: a real Envoy accepts all of them at once.
// On the embedded server only: the backends are on loopback, which a real server refuses in endpoints.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createCa, issueCertificate } from '@capstan/kube';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { missingEnvoy, waitFor } from './envoy.ts';
import { send } from './http-client.ts';
import { createIngressStage } from './ingress-stage.ts';

const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
const shop = { name: 'shop', port: 80 };

suite('features of hosts with TLS', { skip: missingEnvoy() }, () => {
  test('authorization, JWT, fallback certificate, rate limit service, tracing and JSON logs are accepted', async (context) => {
    const stage = await createIngressStage(context, 'ads', (settings) => {
      settings.httpproxy.fallbackCertificate = { name: 'fallback', namespace: 'default' };
      settings.envoy.clientCertificate = { name: 'fallback', namespace: 'default' };
      settings.envoy.logging.accessLogFormat = 'json';
      settings.envoy.logging.jsonFields.push('sesame_config_name', 'short_path=%REQ_WITHOUT_QUERY(:PATH)%');
      settings.envoy.listener.useProxyProtocol = false;
      settings.envoy.listener.connectionBalancer = 'exact';
      settings.envoy.listener.maxRequestsPerConnection = 1_000;
      settings.envoy.listener.httpMaxConcurrentStreams = 100;
      settings.envoy.listener.tls.fingerprint = { ja3: true, ja4: false };
      settings.envoy.timeouts.requestTimeout = '30s';
      settings.envoy.timeouts.streamIdleTimeout = 'infinity';
      settings.envoy.timeouts.connectionIdleTimeout = '60s';
      settings.envoy.cluster.circuitBreakers = { maxConnections: 100, perHostMaxConnections: 50 };
      settings.envoy.cluster.maxRequestsPerConnection = 100;
      settings.rateLimitService = {
        extensionService: 'default/extension',
        domain: 'test',
        failOpen: true,
        enableXRateLimitHeaders: true,
        enableResourceExhaustedCode: true,
      };
      settings.tracing = {
        includePodDetail: true,
        serviceName: 'sesame',
        overallSampling: '100',
        clientSampling: '100',
        randomSampling: '100',
        maxPathTagLength: 256,
        customTags: [
          { tagName: 'a', literal: 'b' },
          { tagName: 'c', requestHeaderName: 'x-c' },
        ],
        extensionService: 'default/extension',
      };
    });
    const ca = await createCa({ commonName: 'test', ...validity });
    const certificate = (name: string) =>
      issueCertificate({ ca, commonName: name, dnsNames: [name], usages: ['server', 'client'], ...validity });
    const [own, fallback] = [await certificate('auth.test'), await certificate('fallback.test')];
    await stage.backend('shop', (_, response) => response.end('shop'));
    await stage.service('extension', 9);
    await stage.secret('own', { 'tls.crt': own.certificate, 'tls.key': own.key });
    await stage.secret('fallback', { 'tls.crt': fallback.certificate, 'tls.key': fallback.key });
    await stage.secret('keys', { jwks: '{"keys":[{"kty":"oct","kid":"a","k":"c2VjcmV0","alg":"HS256"}]}' }, 'Opaque');
    await stage.secret('ca', { 'ca.crt': ca.certificate }, 'Opaque');
    await stage.client.create(ExtensionService, {
      apiVersion: 'projectsesame.io/v1alpha1',
      kind: 'ExtensionService',
      metadata: { name: 'extension', namespace: 'default' },
      spec: { services: [{ name: 'extension', port: 80 }], protocol: 'h2c' },
    });
    await stage.proxy('auth', {
      virtualhost: {
        fqdn: 'auth.test',
        tls: {
          secretName: 'own',
          minimumProtocolVersion: '1.3',
          clientValidation: {
            skipClientCertValidation: true,
            optionalClientCertificate: true,
            forwardClientCertificate: { subject: true, cert: true, dns: true, uri: true },
          },
        },
        authorization: {
          extensionRef: { name: 'extension' },
          failOpen: true,
          responseTimeout: '100ms',
          authPolicy: { context: { a: 'b' } },
          withRequestBody: { maxRequestBytes: 100, allowPartialMessage: true },
        },
        jwtProviders: [
          { name: 'local', issuer: 'test', localJWKS: { secretName: 'keys', key: 'jwks' } },
          { name: 'remote', remoteJWKS: { uri: 'https://localhost:1/keys', timeout: '1s', cacheDuration: '1m' } },
        ],
        rateLimitPolicy: {
          global: { descriptors: [{ entries: [{ genericKey: { value: 'x' } }, { remoteAddress: {} }] }] },
        },
      },
      routes: [
        { services: [shop] },
        { conditions: [{ prefix: '/jwt' }], services: [shop], jwtVerificationPolicy: { require: 'local' } },
        { conditions: [{ prefix: '/open' }], services: [shop], authPolicy: { disabled: true } },
        {
          conditions: [{ prefix: '/verified' }],
          services: [{ ...shop, protocol: 'tls', validation: { caSecret: 'ca', subjectName: 'shop.test' } }],
        },
      ],
    });
    await stage.proxy('fallback', {
      virtualhost: { fqdn: 'fallback.test', tls: { secretName: 'own', enableFallbackCertificate: true } },
      routes: [{ services: [shop] }],
    });
    const get = (host: string, path: string, servername = host) =>
      send({ port: stage.httpsPort, host, path, tls: { ca: ca.certificate, servername } });
    await waitFor(async () => (await get('auth.test', '/open')).status === 200, `TLS; ${stage.refusals().join('\n')}`);
    assert.equal((await get('auth.test', '/jwt')).status, 401);
    const { status } = await stage.client.get(HTTPProxy, { namespace: 'default', name: 'auth' });
    assert.deepEqual(status?.conditions?.[0]?.errors ?? [], []);
    assert.equal(
      (await stage.client.get(HTTPProxy, { namespace: 'default', name: 'fallback' })).status?.currentStatus,
      'valid',
    );
    assert.deepEqual(stage.refusals(), []);
  });
});
