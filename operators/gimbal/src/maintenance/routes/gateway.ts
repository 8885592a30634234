// The routes of the Gateway API: references with weights, to Services of any namespace, and filters that mirror.
import { externalKind, type KubeObject } from '@capstan/kube';
import type { RouteEntry, RouteRule } from '../model.ts';
import { withoutGatewayServices } from './gateway-removal.ts';
import { entryIds, ruleKey } from './identity.ts';
import { fieldsIn, type Json, listIn, objectIn, textIn } from './json.ts';
import type { RouteKind } from './route-kind.ts';

const GROUP = 'gateway.networking.k8s.io';

/**
 * Releases of the Gateway API differ in the versions that they serve: TLSRoute and TCPRoute are v1alpha2 alone in old ones, and v1
 * alone in the standard channel of new ones. Both are searched for, and the older one is passed over where both are served.
 */
export function gatewayRoutes(): RouteKind[] {
  return [
    gatewayRoute('HTTPRoute', 'v1', 'http-route'),
    gatewayRoute('GRPCRoute', 'v1', 'grpc-route'),
    ...inTwoVersions('TLSRoute', 'tls-route'),
    ...inTwoVersions('TCPRoute', 'tcp-route'),
    ...inTwoVersions('UDPRoute', 'udp-route'),
  ];
}

function inTwoVersions(title: string, id: string): RouteKind[] {
  const current = gatewayRoute(title, 'v1', `${id}-v1`);
  return [current, { ...gatewayRoute(title, 'v1alpha2', id, `${title}V1alpha2`), newer: current.kind }];
}

/** `kind` is a name of its own where two versions must be distinguished. The API addresses the kind by group and plural. */
function gatewayRoute(title: string, version: string, id: string, kind = title): RouteKind {
  const plural = `${title.toLowerCase()}s`;
  return {
    kind: externalKind({ group: GROUP, version, kind, plural, scope: 'Namespaced', hasStatus: true }),
    title,
    id,
    rulesOf,
    withoutServices: withoutGatewayServices,
  };
}

function rulesOf(route: KubeObject): RouteRule[] {
  const spec = objectIn((route as { spec?: unknown }).spec);
  const namespace = route.metadata.namespace ?? '';
  return listIn(spec['rules']).map((one, at) => {
    const rule = objectIn(one);
    return {
      // Filters are no part of it: we change the percentage of mirrors.
      key: ruleKey(rule['matches']),
      name: textIn(rule['name']),
      place: textIn(rule['name']) ?? `rules[${at}]`,
      semantics: 'gateway',
      refusal: 'weights',
      entries: entriesOf(rule, `/spec/rules/${at}`, namespace),
    };
  });
}

function entriesOf(rule: Json, path: string, namespace: string): RouteEntry[] {
  const idOf = entryIds();
  const mirrorId = entryIds();
  const mirrorsIn = (owner: Json, at: string) => mirrorsOf(owner, at, namespace, mirrorId);
  const references = listIn(rule['backendRefs']).map(objectIn);
  return [
    ...references.map((reference, at): RouteEntry => {
      const { id, service } = targetOf(reference, namespace, idOf);
      const fields = fieldsIn(reference, ['weight']);
      return { role: 'service', id, service, path: `${path}/backendRefs/${at}`, fields };
    }),
    ...mirrorsIn(rule, path),
    ...references.flatMap((reference, at) => mirrorsIn(reference, `${path}/backendRefs/${at}`)),
  ];
}

function mirrorsOf(owner: Json, path: string, namespace: string, idOf: ReturnType<typeof entryIds>): RouteEntry[] {
  return listIn(owner['filters']).flatMap((one, at): RouteEntry[] => {
    const filter = objectIn(one);
    if (filter['type'] !== 'RequestMirror') return [];
    const mirror = objectIn(filter['requestMirror']);
    const { id, service } = targetOf(objectIn(mirror['backendRef']), namespace, idOf);
    return [
      {
        role: 'mirrorFilter',
        id: `mirror ${id}`,
        service,
        path: `${path}/filters/${at}/requestMirror`,
        fields: fieldsIn(mirror, ['percent', 'fraction']),
      },
    ];
  });
}

/** Only Services of the core group can be a backend's. */
function targetOf(reference: Json, own: string, idOf: ReturnType<typeof entryIds>) {
  const { group = '', kind = 'Service', namespace = own, name } = reference;
  const target = { namespace: textIn(namespace) ?? own, name: textIn(name) ?? '' };
  const isService = group === '' && kind === 'Service';
  return {
    id: idOf(target.namespace, isService ? target.name : `${String(kind)} ${target.name}`, reference['port']),
    service: isService ? target : undefined,
  };
}
