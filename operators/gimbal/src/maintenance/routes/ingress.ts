// Ingress has no weights: a path has one service, and all requests go there. So a drain can only be reported.
import { Ingress, type KubeObject } from '@capstan/kube';
import type { RouteEntry, RouteRule } from '../model.ts';
import { entryIds, ruleKeys } from './identity.ts';
import { withoutIngressServices } from './ingress-removal.ts';
import { type Json, listIn, objectIn, textIn } from './json.ts';
import type { RouteKind } from './route-kind.ts';

export const INGRESS: RouteKind = { kind: Ingress, id: 'ingress', rulesOf, withoutServices: withoutIngressServices };

function rulesOf(ingress: KubeObject): RouteRule[] {
  const namespace = ingress.metadata.namespace ?? '';
  const spec = objectIn((ingress as { spec?: unknown }).spec);
  const keyOf = ruleKeys();
  const paths = listIn(spec['rules']).flatMap((one, at) => {
    const rule = objectIn(one);
    return listIn(objectIn(rule['http'])['paths']).map((each, nth) => {
      const path = objectIn(each);
      const place = `rules[${at}].http.paths[${nth}]`;
      return ruleOf(keyOf([rule['host'], path['path'], path['pathType']]), place, objectIn(path['backend']), namespace);
    });
  });
  const fallback = spec['defaultBackend'];
  return fallback === undefined
    ? paths
    : [...paths, ruleOf('default', 'defaultBackend', objectIn(fallback), namespace)];
}

function ruleOf(key: string, place: string, backend: Json, namespace: string): RouteRule {
  const name = textIn(objectIn(backend['service'])['name']);
  const entry: RouteEntry[] =
    name === undefined
      ? []
      : [
          {
            role: 'service',
            id: entryIds()(namespace, name, undefined),
            service: { namespace, name },
            path: '',
            fields: {},
          },
        ];
  return { key, place, semantics: 'none', refusal: undefined, entries: entry };
}
