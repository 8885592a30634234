// ingress-nginx has weights after all: a second Ingress for the same host and path, marked as canary, takes a part of the
// requests. So a pair of them can be drained: of the canary by weight 0, of the other by giving the canary all.
import { Ingress, type KubeObject } from '@capstan/kube';
import { index, type Reader } from '@capstan/reconcile';
import { listIn, objectIn, textIn } from './json.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/canary';
/** As a name in a JSON pointer below the annotations. */
export const CANARY_WEIGHT = `${PREFIX}-weight`.replace('/', '~1');

export interface Canary {
  readonly weight: string | undefined;
  /** The weight that stands for all requests. */
  readonly total: number;
  /** Some requests come to it by header or cookie, whatever its weight. */
  readonly isChosen: boolean;
}

/** Returns the canary that an Ingress describes; undefined for others. */
export function canaryOf({ metadata: { annotations = {} } }: KubeObject): Canary | undefined {
  if (annotations[PREFIX] !== 'true') return undefined;
  const total = Number(annotations[`${PREFIX}-weight-total`] ?? 100);
  return {
    weight: annotations[`${PREFIX}-weight`],
    total: Number.isInteger(total) && total > 0 ? total : 100,
    isChosen: annotations[`${PREFIX}-by-header`] !== undefined || annotations[`${PREFIX}-by-cookie`] !== undefined,
  };
}

/** The annotations that count here. */
export function canaryAnnotations(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => name.startsWith(PREFIX)));
}

export interface IngressPath {
  /** The key of host and path, which an Ingress and its canary have in common. */
  readonly key: string;
  readonly place: string;
  readonly match: unknown;
  readonly service: string | undefined;
}

export function pathsOf(ingress: KubeObject): IngressPath[] {
  const spec = objectIn((ingress as { spec?: unknown }).spec);
  return listIn(spec['rules']).flatMap((one, at) => {
    const rule = objectIn(one);
    return listIn(objectIn(rule['http'])['paths']).map((each, nth) => {
      const { path, pathType, backend } = objectIn(each);
      return {
        key: `${ingress.metadata.namespace} ${textIn(rule['host']) ?? ''}${textIn(path) ?? ''}`,
        place: `rules[${at}].http.paths[${nth}]`,
        match: [rule['host'], path, pathType],
        service: textIn(objectIn(objectIn(backend)['service'])['name']),
      };
    });
  });
}

const byPath = index(Ingress, 'host and path of an ingress', (ingress) => [
  ...new Set(pathsOf(ingress).map(({ key }) => key)),
]);

/** The other Ingresses for the same hosts and paths: a canary's, or those of which it is one. */
export function peersOf(read: Reader, route: KubeObject): readonly KubeObject[] {
  const isCanary = canaryOf(route) !== undefined;
  const keys = new Set(pathsOf(route).map(({ key }) => key));
  const found = [...keys].flatMap((key) => read.by(byPath, key, peerOf));
  const peers = found.filter(
    (one) => one.metadata.name !== route.metadata.name && (canaryOf(one) !== undefined) !== isCanary,
  );
  return [...new Map(peers.map((one) => [one.metadata.name, one])).values()];
}

const peerOf = ({ apiVersion, kind, metadata, spec }: Ingress): Ingress => {
  const { name, namespace, annotations = {} } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      ...(name ? { name } : {}),
      ...(namespace ? { namespace } : {}),
      annotations: canaryAnnotations(annotations),
    },
    ...(spec === undefined ? {} : { spec }),
  };
};
