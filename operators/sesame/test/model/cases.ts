// Translates the cases of the fixtures: from an object with one policy to the model of its host.
import { readFileSync } from 'node:fs';
import type { Ingress } from '@capstan/kube';
import { parse } from 'yaml';
import { lookupOf, ruleContext, service } from '../../src/gateway/gateway.test-support.ts';
import { translateHttpRoute } from '../../src/gateway/routes/http-rules.ts';
import type { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { testSettings } from '../../src/routing/default-settings.ts';
import { translateIngress } from '../../src/routing/ingress/translate-ingress.ts';
import type { Lookup, SecretView } from '../../src/routing/lookup.ts';
import { translateRoot } from '../../src/routing/proxy/translate-root.ts';

/** One policy, and its effect. */
export interface Case {
  readonly policy: string;
  /** Fields of the configuration. */
  readonly settings?: object;
  readonly spec?: object;
  readonly virtualhost?: object;
  readonly route?: object;
  readonly service?: object;
  readonly annotations?: Record<string, string>;
  /** The Secret of an Ingress with TLS. */
  readonly tls?: string;
  readonly rule?: object;
  readonly model?: unknown;
  readonly message?: unknown;
}

export function readCases(file: string): Case[] {
  return parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as Case[];
}

export interface Certificates {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
}

function lookup({ certificate, key, ca }: Certificates): Lookup {
  const secret = (namespace: string, name: string, data: Record<string, string>): SecretView => ({
    namespace,
    name,
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(data).map(([each, text]) => [each, Buffer.from(text)])),
  });
  const pair = { 'tls.crt': certificate, 'tls.key': key };
  const secrets = [
    secret('default', 'cert', pair),
    secret('certs', 'cert', pair),
    secret('default', 'ca', { 'ca.crt': ca }),
    secret('default', 'keys', { jwks: '{"keys": []}' }),
    secret('default', 'login', { 'client-secret': 'a', 'hmac-secret': '0123456789abcdef0123456789abcdef' }),
  ];
  const services = [
    service('shop'),
    service('other'),
    service('external', { type: 'ExternalName', externalName: 'b.test' }),
    service('limited', {
      annotations: {
        'max-connections': '1',
        'max-pending-requests': '2',
        'max-requests': '3',
        'max-retries': '4',
        'per-host-max-connections': '5',
      },
    }),
  ];
  return {
    proxy: () => undefined,
    ...lookupOf({ services, secrets }),
    extensionService: (namespace, name) =>
      name === 'asked'
        ? {
            apiVersion: 'projectsesame.io/v1alpha1',
            kind: 'ExtensionService',
            metadata: { namespace, name },
            spec: { services: [{ name: 'shop', port: 80 }] },
          }
        : undefined,
    delegations: () => ['*'],
  };
}

function settingsOf({ settings }: Case) {
  return testSettings((defaults) => Object.assign(defaults, settings));
}

export function translateProxyCase(each: Case, certificates: Certificates) {
  const proxy = {
    apiVersion: 'projectsesame.io/v1',
    kind: 'HTTPProxy',
    metadata: { namespace: 'default', name: 'shop' },
    spec: withoutNull({
      virtualhost: { fqdn: 'a.test', ...each.virtualhost },
      routes: [withoutNull({ services: [{ name: 'shop', port: 80, ...each.service }], ...each.route })],
      ...each.spec,
    }),
  } as unknown as HTTPProxy;
  const settings = settingsOf(each);
  return { settings, ...translateRoot(proxy, lookup(certificates), settings) };
}

export function translateIngressCase(each: Case, certificates: Certificates) {
  const ingress = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { namespace: 'default', name: 'shop', annotations: each.annotations },
    spec: {
      rules: [
        {
          host: 'a.test',
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'shop', port: { number: 80 } } } }],
          },
        },
      ],
      ...(each.tls !== undefined && { tls: [{ hosts: ['a.test'], secretName: each.tls }] }),
    },
  } as unknown as Ingress;
  const settings = settingsOf(each);
  return { settings, ...translateIngress(ingress, lookup(certificates), settings) };
}

export function translateRuleCase(each: Case) {
  const context = ruleContext({ services: [service('a'), service('b')] });
  const rule = withoutNull({ backendRefs: [{ name: 'a', port: 80 }], ...each.rule });
  return translateHttpRoute(
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { namespace: 'default', name: 'shop' },
      spec: { rules: [rule] },
    },
    context,
  );
}

/** A fixture removes a field by null. */
function withoutNull(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
