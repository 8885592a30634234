// Ingress has no weights: a path has one service, and all requests go there, so a drain can only be reported; unless there is
// a canary beside it (see ingress-canary.ts).
import { Ingress, type KubeObject } from '@capstan/kube';
import type { RouteEntry, RouteRule } from '../model.ts';
import { entryIds, ruleKey } from './identity.ts';
import { CANARY_WEIGHT, type Canary, canaryOf, pathsOf, peersOf } from './ingress-canary.ts';
import { withoutIngressServices } from './ingress-removal.ts';
import { objectIn, textIn } from './json.ts';
import type { RouteKind } from './route-kind.ts';

export const INGRESS: RouteKind = {
  kind: Ingress,
  title: 'Ingress',
  id: 'ingress',
  rulesOf,
  peersOf,
  withoutServices: withoutIngressServices,
};

function rulesOf(ingress: KubeObject, peers: readonly KubeObject[] = []): RouteRule[] {
  const canary = canaryOf(ingress);
  return canary === undefined ? plainRules(ingress, peers) : [canaryRule(ingress, canary, peers)];
}

function plainRules(ingress: KubeObject, canaries: readonly KubeObject[]): RouteRule[] {
  const namespace = ingress.metadata.namespace ?? '';
  const rules = pathsOf(ingress).map(({ key, place, match, service }): RouteRule => {
    const beside = canaries.filter((one) => pathsOf(one).some((path) => path.key === key));
    const entries = [...entriesOf('service', [service], namespace), ...peerEntries(beside, [key], namespace)];
    return {
      key: ruleKey(match),
      place,
      semantics: 'none',
      refusal: undefined,
      entries,
      isRelieved: beside.some(takesAll),
    };
  });
  const fallback = textIn(objectIn(objectIn(specOf(ingress)['defaultBackend'])['service'])['name']);
  if (fallback === undefined) return rules;
  const entries = entriesOf('service', [fallback], namespace);
  return [...rules, { key: 'default', place: 'defaultBackend', semantics: 'none', refusal: undefined, entries }];
}

/** A canary's weight is for the whole Ingress: one rule, with all its services and all those beside it. */
function canaryRule(ingress: KubeObject, canary: Canary, peers: readonly KubeObject[]): RouteRule {
  const namespace = ingress.metadata.namespace ?? '';
  const paths = pathsOf(ingress);
  const own = entriesOf(
    'canary',
    paths.map(({ service }) => service),
    namespace,
  );
  const keys = paths.map(({ key }) => key);
  return {
    key: 'canary',
    place: 'canary-weight',
    semantics: 'canary',
    refusal: undefined,
    total: canary.total,
    isChosen: canary.isChosen,
    entries: [
      ...own.map((entry, at) => (at === 0 ? { ...entry, fields: { [CANARY_WEIGHT]: canary.weight } } : entry)),
      ...peerEntries(peers, keys, namespace),
    ],
  };
}

function takesAll(ingress: KubeObject): boolean {
  const canary = canaryOf(ingress);
  return canary !== undefined && Number(canary.weight) >= canary.total;
}

function peerEntries(peers: readonly KubeObject[], keys: readonly string[], namespace: string): RouteEntry[] {
  const services = peers.flatMap((one) =>
    pathsOf(one).flatMap(({ key, service }) => (keys.includes(key) ? [service] : [])),
  );
  return entriesOf('peer', services, namespace);
}

function entriesOf(role: RouteEntry['role'], names: readonly (string | undefined)[], namespace: string): RouteEntry[] {
  const idOf = entryIds();
  const path = role === 'canary' ? '/metadata/annotations' : '';
  return names
    .filter((name) => name !== undefined)
    .map((name) => ({
      role,
      id: `${role === 'peer' ? 'beside ' : ''}${idOf(namespace, name, undefined)}`,
      service: { namespace, name },
      path,
      fields: {},
    }));
}

function specOf(ingress: KubeObject) {
  return objectIn((ingress as { spec?: unknown }).spec);
}
