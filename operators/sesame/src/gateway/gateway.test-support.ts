// Objects and look-ups for tests of the Gateway API's rules.

import { createCa, issueCertificate } from '@capstan/kube';
import { decode, type Envoy, encode } from '../envoy/index.ts';
import type { Route } from '../model/route.ts';
import { testSettings } from '../routing/default-settings.ts';
import { routeMessage } from '../routing/envoy/route-message.ts';
import type { SecretView, ServiceView } from '../routing/lookup.ts';
import type { GatewayLookup } from './api/lookup.ts';
import type { BackendTLSPolicy, GatewaySpec, HTTPRouteRule, Listener } from './api/objects.ts';
import type { GrantSpec } from './api/references.ts';
import { type RuleContext, translateHttpRoute } from './routes/http-rules.ts';

export interface Fixture {
  readonly services?: readonly ServiceView[];
  readonly secrets?: readonly SecretView[];
  readonly grants?: Readonly<Record<string, readonly GrantSpec[]>>;
  readonly namespaces?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly configMaps?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly policies?: readonly BackendTLSPolicy[];
}

export function lookupOf(fixture: Fixture = {}): GatewayLookup {
  return {
    service: (namespace, name) => fixture.services?.find((each) => each.namespace === namespace && each.name === name),
    secret: (namespace, name) => fixture.secrets?.find((each) => each.namespace === namespace && each.name === name),
    gatewayClass: () => undefined,
    namespaceLabels: (name) => fixture.namespaces?.[name],
    grants: (namespace) => fixture.grants?.[namespace] ?? [],
    configMap: (namespace, name) => fixture.configMaps?.[`${namespace}/${name}`],
    backendTlsPolicies: () => fixture.policies ?? [],
  };
}

export function service(name: string, more: Partial<ServiceView> = {}): ServiceView {
  return {
    namespace: 'default',
    name,
    type: 'ClusterIP',
    externalName: undefined,
    ports: [{ name: 'http', port: 80, protocol: 'TCP', appProtocol: undefined, targetPort: 8080 }],
    annotations: {},
    ...more,
  };
}

export function listener(name: string, more: Partial<Listener> = {}): Listener {
  return { name, port: 80, protocol: 'HTTP', ...more };
}

export function gatewaySpec(...listeners: Listener[]): GatewaySpec {
  return { gatewayClassName: 'sesame', listeners };
}

const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };

/** A Secret with a certificate that Envoy would load, and the authority's certificate. */
export async function certificate(name: string, namespace = 'default'): Promise<{ secret: SecretView; ca: string }> {
  const ca = await createCa({ commonName: 'test', ...validity });
  const issued = await issueCertificate({
    ca,
    commonName: 'test',
    dnsNames: ['test.example'],
    usages: ['server'],
    ...validity,
  });
  return {
    secret: {
      namespace,
      name,
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': Buffer.from(issued.certificate), 'tls.key': Buffer.from(issued.key) },
    },
    ca: ca.certificate,
  };
}

export function ruleContext(fixture: Fixture = {}, more: Partial<RuleContext> = {}): RuleContext {
  return {
    kind: 'HTTPRoute',
    namespace: 'default',
    name: 'shop',
    lookup: lookupOf(fixture),
    settings: testSettings(),
    clientCertificate: undefined,
    listener: { scheme: 'http', port: 80 },
    ...more,
  };
}

/** Translates rules of an HTTPRoute, with Services a and b. */
export function translateRules(
  rules: readonly HTTPRouteRule[],
  more: Partial<RuleContext> = {},
  fixture: Fixture = {},
) {
  const context = ruleContext({ services: [service('a'), service('b')], ...fixture }, more);
  return translateHttpRoute(
    { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: {}, spec: { rules } },
    context,
  );
}

/** The route as Envoy reads it: without fields that are not set. */
export function servedRoute(route: Route): Envoy.Route {
  const type = 'envoy.config.route.v3.Route';
  return decode(type, encode(type, routeMessage(route)));
}
