// HTTPProxy, of Contour and of those that kept its schema, and IngressRoute before it: services with weights, in the route's
// own namespace, and at most one of them a mirror.
import { externalKind, type KubeObject } from '@capstan/kube';
import { type RouteEntry, type RouteRule, type Semantics } from '../model.ts';
import { withoutContourServices } from './contour-removal.ts';
import { entryIds, ruleKey } from './identity.ts';
import { fieldsIn, type Json, listIn, objectIn, textIn } from './json.ts';
import type { RouteKind } from './route-kind.ts';

const proxy = (group: string, id: string, semantics: Semantics = 'contour'): RouteKind => ({
  kind: externalKind({
    group,
    version: 'v1',
    kind: 'HTTPProxy',
    plural: 'httpproxies',
    scope: 'Namespaced',
    hasStatus: true,
  }),
  title: 'HTTPProxy',
  id,
  rulesOf: (route) => rulesOf(route, ({ conditions }) => conditions, { semantics, refusal: 'deny' }),
  withoutServices: (spec, isGone) => withoutContourServices(spec, isGone, 'respond'),
});

/** The kinds of Contour, of Sesame, and of the former Heptio Contour. */
export const HTTP_PROXIES: readonly RouteKind[] = [
  proxy('projectcontour.io', 'http-proxy'),
  proxy('projectsesame.io', 'sesame-http-proxy', 'sesame'),
  proxy('contour.heptio.com', 'heptio-http-proxy'),
];

export const INGRESS_ROUTE: RouteKind = {
  kind: externalKind({
    group: 'contour.heptio.com',
    version: 'v1beta1',
    kind: 'IngressRoute',
    plural: 'ingressroutes',
    scope: 'Namespaced',
    hasStatus: true,
  }),
  title: 'IngressRoute',
  id: 'ingress-route',
  rulesOf: (route) => rulesOf(route, ({ match }) => match, { semantics: 'contour', refusal: undefined }),
  withoutServices: (spec, isGone) => withoutContourServices(spec, isGone, 'drop'),
};

interface DataPlane {
  readonly semantics: Semantics;
  readonly refusal: 'deny' | undefined;
}

function rulesOf(route: KubeObject, matchOf: (rule: Json) => unknown, { semantics, refusal }: DataPlane): RouteRule[] {
  const namespace = route.metadata.namespace ?? '';
  const spec = objectIn((route as { spec?: unknown }).spec);
  const rules = listIn(spec['routes']).map((one, at): RouteRule => {
    const rule = objectIn(one);
    const path = `/spec/routes/${at}`;
    const gate: RouteEntry[] = refusal === undefined ? [] : [gateOf(rule, path)];
    return {
      key: ruleKey(matchOf(rule)),
      place: `routes[${at}]`,
      semantics,
      refusal,
      entries: [...servicesOf(rule, path, namespace), ...gate],
    };
  });
  return [...rules, ...tcpRules(spec, namespace, semantics)].filter(({ entries }) =>
    entries.some(({ role }) => role !== 'gate'),
  );
}

function tcpRules(spec: Json, namespace: string, semantics: Semantics): RouteRule[] {
  const tcp = objectIn(spec['tcpproxy']);
  const entries = servicesOf(tcp, '/spec/tcpproxy', namespace);
  return [{ key: 'tcpproxy', place: 'tcpproxy', semantics, refusal: undefined, entries }];
}

function servicesOf(rule: Json, path: string, namespace: string): RouteEntry[] {
  const idOf = entryIds();
  return listIn(rule['services']).flatMap((one, at): RouteEntry[] => {
    const service = objectIn(one);
    const name = textIn(service['name']);
    if (name === undefined) return [];
    const fields = fieldsIn(service, ['weight', 'mirror']);
    return [
      {
        role: fields['mirror'] === true ? 'mirror' : 'service',
        id: idOf(namespace, name, service['port']),
        service: { namespace, name },
        path: `${path}/services/${at}`,
        fields,
      },
    ];
  });
}

/** Refuses every address: the one way to answer nothing without taking services away from the route. */
function gateOf(rule: Json, path: string): RouteEntry {
  return {
    role: 'gate',
    id: 'gate',
    service: undefined,
    path,
    fields: fieldsIn(rule, ['ipAllowPolicy', 'ipDenyPolicy']),
  };
}
