// Kept objects: one case for each behaviour in which Sesame once differed from Contour. Both run with one configuration file.
import type { KubeObject } from '@capstan/kube';
import type { Case } from './cases.ts';

/** Settings that reach the resources of every host. */
export const KEPT_FILE = `rateLimitService:
  extensionService: default/limits
  domain: edge
  defaultGlobalRateLimitPolicy:
    descriptors:
    - entries:
      - remoteAddress: {}
globalExtAuth:
  extensionService: default/auth
  failOpen: true
  responseTimeout: 1s
  authPolicy: {context: {edge: global}}
tls:
  envoy-client-certificate: {name: tls, namespace: default}
compression: {algorithm: gzip}
listener: {max-connections-per-listener: 1000}
omEnforcedHealthListener: {address: 127.0.0.1, port: 9003}
`;

type Json = Record<string, unknown>;

const object = (apiVersion: string, kind: string, name: string, spec: Json): KubeObject =>
  ({ apiVersion, kind, metadata: { name, namespace: 'default' }, spec }) as KubeObject;
const proxy = (name: string, spec: Json) => object('projectcontour.io/v1', 'HTTPProxy', name, spec);
const extension = (name: string, spec: Json) =>
  object('projectcontour.io/v1alpha1', 'ExtensionService', name, { services: [{ name: 'shop', port: 80 }], ...spec });

const SHOP = { services: [{ name: 'shop', port: 80 }] };
const TLS = { secretName: 'tls' };

function kept(name: string, spec: (fqdn: string) => Json, more: readonly KubeObject[] = [], pattern = ''): Case {
  const fqdn = `${pattern}${name}.kept.test`;
  return { name, hosts: [fqdn], objects: [...more, proxy(name, spec(fqdn))] };
}

const part = (name: string, prefix: string) =>
  proxy(name, {
    routes: [
      { ...SHOP, conditions: [{ prefix }] },
      { ...SHOP, conditions: [{ prefix: `${prefix}/deep` }] },
    ],
  });

const authorizedBy = (name: string) => (fqdn: string) => ({
  virtualhost: { fqdn, tls: TLS, authorization: { extensionRef: { name, namespace: 'default' } } },
  routes: [SHOP],
});

export const KEPT_CASES: readonly Case[] = [
  kept('routes-beside-tcp', (fqdn) => ({
    virtualhost: { fqdn, tls: TLS },
    tcpproxy: SHOP,
    routes: [SHOP, { ...SHOP, conditions: [{ prefix: '/open' }], permitInsecure: true }],
  })),
  kept(
    'includes-of-the-root',
    (fqdn) => ({
      virtualhost: { fqdn },
      includes: [
        { name: 'kept-a', conditions: [{ prefix: '/' }] },
        { name: 'kept-b', conditions: [{ prefix: '/' }] },
      ],
    }),
    [part('kept-a', '/a'), part('kept-b', '/b')],
  ),
  kept(
    'one-label',
    (fqdn) => ({ virtualhost: { fqdn, tls: TLS }, routes: [{ ...SHOP, permitInsecure: true }] }),
    [],
    '*.',
  ),
  kept('local-limit', (fqdn) => ({
    virtualhost: { fqdn, rateLimitPolicy: { local: { requests: 5, unit: 'second' } } },
    routes: [
      SHOP,
      { ...SHOP, conditions: [{ prefix: '/b' }], rateLimitPolicy: { local: { requests: 1, unit: 'minute' } } },
    ],
  })),
  kept('limit-of-the-route', (fqdn) => ({
    virtualhost: { fqdn },
    routes: [
      SHOP,
      {
        ...SHOP,
        conditions: [{ prefix: '/c' }],
        rateLimitPolicy: { global: { descriptors: [{ entries: [{ genericKey: { value: 'c' } }] }] } },
      },
      { ...SHOP, conditions: [{ prefix: '/d' }], rateLimitPolicy: { global: { disabled: true } } },
    ],
  })),
  kept('certificate-for-extensions', authorizedBy('over-tls'), [
    extension('over-tls', { protocol: 'h2', services: [{ name: 'secure', port: 443 }] }),
  ]),
  kept('connections-of-extensions', authorizedBy('idle'), [
    extension('idle', {
      protocol: 'h2c',
      timeoutPolicy: { response: '2s', idle: '3s', idleConnection: '4s' },
      loadBalancerPolicy: { strategy: 'Random' },
    }),
  ]),
  kept('balance-of-extensions', authorizedBy('hashed'), [
    extension('hashed', { protocol: 'h2c', loadBalancerPolicy: { strategy: 'Cookie' } }),
  ]),
  kept('client-certificate', (fqdn) => ({
    virtualhost: { fqdn },
    routes: [{ services: [{ name: 'secure', port: 443, protocol: 'tls' }] }],
  })),
  kept('empty-prefix', (fqdn) => ({
    virtualhost: { fqdn },
    routes: [
      { ...SHOP, conditions: [{ prefix: '' }] },
      { ...SHOP, conditions: [{ prefix: '/x' }, { prefix: '' }] },
    ],
  })),
  kept('variables', (fqdn) => ({
    virtualhost: { fqdn },
    routes: [
      {
        ...SHOP,
        requestHeadersPolicy: {
          set: [
            { name: 'X-Host', value: '%HOSTNAME%' },
            { name: 'X-Service', value: '%CONTOUR_SERVICE_NAME%:%CONTOUR_SERVICE_PORT%' },
            { name: 'X-Namespace', value: '%CONTOUR_NAMESPACE%' },
            { name: 'X-Address', value: '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%' },
          ],
        },
      },
    ],
  })),
  kept('opt-out', (fqdn) => ({
    virtualhost: { fqdn, tls: TLS, authorization: { authPolicy: { disabled: true } } },
    routes: [SHOP],
  })),
];
