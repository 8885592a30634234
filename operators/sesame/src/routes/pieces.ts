// The graph: each root, each host, each Service's endpoints and each extension is a derivation of its own, so that a change is
// computed where it matters and nowhere else.
import { equal, Ingress, interned, Service } from '@capstan/kube';
import { type Derived, derivation, index, type KeySet, type KindIndex, type Reader } from '@capstan/reconcile';
import { ExtensionService } from '../kinds/extension-service.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import type { EndpointSet } from '../model/endpoints.ts';
import type { Findings } from '../result.ts';
import { closedPiece, hostPiece, isSamePiece, mergeHost, Piece } from '../routing/assembly/piece.ts';
import { compareBytes, hostNames, wildcardsOver } from '../routing/conditions.ts';
import { endpointsResource } from '../routing/envoy/endpoints-message.ts';
import { extensionPiece, type TranslatedExtension } from '../routing/extension/translate-extension.ts';
import { fingerprint } from '../routing/fingerprint.ts';
import {
  ingressHosts,
  ingressPaths,
  type TranslatedIngress,
  translateIngress,
} from '../routing/ingress/translate-ingress.ts';
import { isServed, proxyView, readLookup, slicesByService } from '../routing/lookup.ts';
import { globalAuthorization } from '../routing/policy/authorization.ts';
import { type HostContribution, translateRoot } from '../routing/proxy/translate-root.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { endpointSets, sliceView } from '../routing/upstream/endpoints.ts';
import { endpointModels, hostModel, NO_MODEL, type PieceModel } from './piece-model.ts';

export interface RouteGraph {
  /** Returns the model of a host, before it is translated to Envoy. It is computed on request, and not kept. */
  model(read: Reader, fqdn: string): HostContribution | undefined;
  /** The parts of the served resources, by the keys of `keys`. */
  readonly pieces: Derived<Piece>;
  /** The models that the pieces are translated from, by the same keys. They are computed on request, and not kept. */
  readonly models: Derived<PieceModel>;
  readonly keys: readonly KeySet[];
  /** A root HTTPProxy, by `namespace/name`, with its problems and all that it includes. */
  readonly roots: Derived<ServedRoot>;
  readonly ingresses: Derived<TranslatedIngress>;
  /** Messages about the paths of an Ingress, by `namespace/name`, that an older one has for the same host. */
  readonly shadowedPaths: Derived<readonly string[]>;
  /** An ExtensionService, by `namespace/name`. */
  readonly extensions: Derived<TranslatedExtension>;
  readonly settings: Derived<RoutingSettings>;
}

/** The kept result of a root: its served bytes, not the values that they were computed from. */
export interface ServedRoot {
  /** By name of its virtual host. */
  readonly pieces: readonly (readonly [fqdn: string, piece: Piece])[];
  /** By `namespace/name`, of the root and all that it includes. */
  readonly findings: readonly (readonly [name: string, found: Findings])[];
}

// The endpoints of a Service have its key, `namespace/name`: there are more of them than of all others, and a kind that names keys needs no
// list of them. No namespace has a colon in its name.
const HOST = 'host:';
const EXTENSION = 'extension:';
export const SETTINGS = 'settings';

/** The key of a host's piece. */
export function hostKey(host: string): string {
  return HOST + host;
}

export const rootsByFqdn = index(HTTPProxy, 'fqdn', ({ spec }) => [
  ...new Set(hostNames(spec.virtualhost ?? {}).map(({ fqdn }) => hostKey(fqdn))),
]);

export const ingressesByHost = index(Ingress, 'host', (ingress) => ingressHosts(ingress).map(hostKey));

const extensionsByKey = index(ExtensionService, 'extension', ({ metadata }) => [
  `${EXTENSION}${metadata.namespace ?? ''}/${metadata.name ?? ''}`,
]);

/** A sink does not know the objects of its indexes. */
const INDEXES = [rootsByFqdn, ingressesByHost, extensionsByKey] as unknown as readonly KindIndex[];

const settingsKey = derivation<readonly string[]>({ name: 'settings-key', compute: () => [SETTINGS] });

/** Another source of pieces beside HTTPProxies and Ingresses. */
export interface PieceProvider {
  readonly keys: readonly KeySet[];
  owns(key: string): boolean;
  piece(key: string, read: Reader): Piece;
  model(key: string, read: Reader): PieceModel;
}

/** The configuration comes from outside: it is the effective one, read with the empty key. */
export function routeGraph(settings: Derived<RoutingSettings>, more: readonly PieceProvider[] = []): RouteGraph {
  const roots = derivation<ServedRoot>({
    name: 'root',
    compute({ key, read }) {
      const at = key.indexOf('/');
      const ref = { namespace: key.slice(0, at), name: key.slice(at + 1) };
      const root = read.get(HTTPProxy, ref, proxyView);
      const effective = read.derived(settings, '');
      if (!root?.spec.virtualhost) return NOTHING;
      const lookup = readLookup(read, effective.ingress);
      const { parts, closed, secrets, findings } = translateRoot(root, lookup, effective, {
        olderRoots: olderRoots(read, key, root, effective),
      });
      const hasTls = root.spec.virtualhost.tls !== undefined;
      return {
        pieces: [
          ...parts.map((part) => [part.fqdn, hostPiece(part.fqdn, [part], secrets, effective)] as const),
          ...closed
            .filter((fqdn) => isCaught(read, fqdn))
            .map((fqdn) => [fqdn, closedPiece(fqdn, key, hasTls, effective)] as const),
        ],
        findings: [...findings].map(([name, found]) => [interned(name), sharedFindings(found)] as const),
      };
    },
    equals: (left, right) => haveSamePieces(left, right) && equal(left.findings, right.findings),
  });

  const ingresses = derivation<TranslatedIngress>({
    name: 'ingress',
    compute({ key, read }) {
      const at = key.indexOf('/');
      const ingress = read.get(Ingress, { namespace: key.slice(0, at), name: key.slice(at + 1) }, ingressView);
      const effective = read.derived(settings, '');
      return ingress
        ? translateIngress(ingress, readLookup(read, effective.ingress), effective)
        : { parts: new Map(), secrets: [], problems: [] };
    },
    equals: (left, right) => fingerprint(left) === fingerprint(right),
  });

  const shadowedPaths = derivation<readonly string[]>({
    name: 'shadowed-paths',
    compute({ key, read }) {
      const at = key.indexOf('/');
      const own = read.get(Ingress, { namespace: key.slice(0, at), name: key.slice(at + 1) }, pathsOf);
      const classes = read.derived(settings, '').ingress;
      return Object.entries(own?.paths ?? {}).flatMap(([name, paths]) => {
        const older = read
          .by(ingressesByHost, hostKey(name), pathsOf)
          .filter(({ identity }) => own && isServed(identity, classes) && byAge(identity, own.identity) < 0)
          .toSorted((left, right) => byAge(left.identity, right.identity));
        return Object.entries(paths).flatMap(([id, path]) => {
          const winner = older.find((each) => each.paths[name]?.[id] !== undefined)?.identity.metadata;
          if (!winner) return [];
          return `spec.rules: the path ${path} of ${name} is that of Ingress ${winner.namespace ?? ''}/${winner.name ?? ''}, which is older and keeps it; use another path or host`;
        });
      });
    },
  });

  const ingressesOf = (key: string, read: Reader, { ingress }: RoutingSettings): TranslatedIngress[] =>
    read
      .by(ingressesByHost, key, ingressIdentity)
      .filter((each) => isServed(each, ingress))
      // The last one of several routes with the same match counts, and that is the one of the oldest Ingress.
      .toSorted((left, right) => byAge(right, left))
      .map(({ metadata }) => read.derived(ingresses, `${metadata.namespace ?? ''}/${metadata.name ?? ''}`));

  /** The contributions of all objects of a host, in the order of their weight. */
  const contributions = (key: string, name: string | undefined, read: Reader, effective: RoutingSettings) => {
    const fqdn = key.slice(HOST.length);
    const older = ingressesOf(key, read, effective);
    const at = name?.indexOf('/') ?? -1;
    const root =
      name !== undefined && read.get(HTTPProxy, { namespace: name.slice(0, at), name: name.slice(at + 1) }, proxyView);
    const translated = root ? [translateRoot(root, readLookup(read, effective.ingress), effective)] : [];
    return {
      parts: [
        ...older.flatMap(({ parts: found }) => found.get(fqdn) ?? []),
        ...translated.flatMap(({ parts }) => parts.filter((part) => part.fqdn === fqdn)),
      ],
      secrets: [...older, ...translated].flatMap((each) => each.secrets),
    };
  };

  const host = (key: string, read: Reader): Piece => {
    const effective = read.derived(settings, '');
    const name = oldestRoot(read, key, effective);
    // Most hosts have one root and no Ingress: its piece is that of the host.
    if (read.by(ingressesByHost, key, ingressIdentity).every((each) => !isServed(each, effective.ingress)))
      return (name === undefined ? undefined : pieceOf(read.derived(roots, name), key.slice(HOST.length))) ?? NO_PIECE;
    const { parts, secrets } = contributions(key, name, read, effective);
    return hostPiece(key.slice(HOST.length), parts, secrets, effective);
  };

  const endpoints = (name: string, read: Reader): EndpointSet[] => {
    const at = name.indexOf('/');
    const ref = { namespace: name.slice(0, at), name: name.slice(at + 1) };
    const ports = read.get(Service, ref, portNames);
    return ports ? endpointSets(ref, ports, read.by(slicesByService, name, sliceView)) : [];
  };

  const extensions = derivation<TranslatedExtension>({
    name: 'extension',
    compute({ key, read }) {
      const at = key.indexOf('/');
      const namespace = key.slice(0, at);
      const found = readLookup(read).extensionService(namespace, key.slice(at + 1));
      if (!found) return { piece: new Piece({}), model: NO_MODEL, findings: { errors: [], warnings: [] } };
      const slices = (service: string) => read.by(slicesByService, `${namespace}/${service}`, sliceView);
      const effective = read.derived(settings, '');
      return extensionPiece(found, readLookup(read, effective.ingress), slices, effective);
    },
    equals: (left, right) => isSamePiece(left.piece, right.piece) && equal(left.findings, right.findings),
  });

  const pieces = derivation<Piece>({
    name: 'piece',
    compute({ key, read }) {
      if (key.startsWith(HOST)) return host(key, read);
      if (key.startsWith(EXTENSION)) return read.derived(extensions, key.slice(EXTENSION.length)).piece;
      const other = more.find((each) => each.owns(key));
      if (other) return other.piece(key, read);
      if (key !== SETTINGS) return new Piece({ endpoints: endpoints(key, read).map(endpointsResource) });
      const effective = read.derived(settings, '');
      return new Piece({ settings: effective, authorization: globalAuthorization(effective, readLookup(read)) });
    },
    equals: isSamePiece,
  });
  const models = derivation<PieceModel>({
    name: 'piece-model',
    compute({ key, read }) {
      const effective = read.derived(settings, '');
      // Listeners have their models themselves.
      if (key === SETTINGS) return NO_MODEL;
      if (key.startsWith(HOST)) {
        const fqdn = key.slice(HOST.length);
        return hostModel(fqdn, contributions(key, oldestRoot(read, key, effective), read, effective).parts, effective);
      }
      if (key.startsWith(EXTENSION)) return read.derived(extensions, key.slice(EXTENSION.length)).model;
      return more.find((each) => each.owns(key))?.model(key, read) ?? endpointModels(endpoints(key, read));
    },
  });
  return {
    models,
    model(read, fqdn) {
      const effective = read.derived(settings, '');
      const key = hostKey(fqdn);
      const { parts } = contributions(key, oldestRoot(read, key, effective), read, effective);
      return mergeHost(fqdn, parts);
    },
    pieces,
    keys: [Service, ...INDEXES, ...more.flatMap(({ keys }) => keys), settingsKey],
    roots,
    ingresses,
    shadowedPaths,
    extensions,
    settings,
  };
}

const NO_PIECE = new Piece({});
const NOTHING: ServedRoot = { pieces: [], findings: [] };

function pieceOf({ pieces }: ServedRoot, fqdn: string): Piece | undefined {
  return pieces.find(([name]) => name === fqdn)?.[1];
}

function haveSamePieces({ pieces: left }: ServedRoot, { pieces: right }: ServedRoot): boolean {
  return (
    left.length === right.length &&
    left.every(([fqdn, piece], index) => {
      const [name, other] = right[index] ?? [];
      return fqdn === name && other !== undefined && isSamePiece(piece, other);
    })
  );
}

/** The names of a root that other HTTPProxies have too and keep, because they are older. */
function olderRoots(read: Reader, key: string, root: HTTPProxy, settings: RoutingSettings): Map<string, string> {
  return new Map(
    hostNames(root.spec.virtualhost ?? {}).flatMap(({ fqdn }) => {
      const oldest = oldestRoot(read, hostKey(fqdn), settings);
      return oldest === undefined || oldest === key ? [] : [[fqdn, oldest] as const];
    }),
  );
}

/** Whether an object serves a wildcard that covers the name. */
function isCaught(read: Reader, fqdn: string): boolean {
  const isThere = (wildcard: string) =>
    read.by(rootsByFqdn, hostKey(wildcard), isObject).length > 0 ||
    read.by(ingressesByHost, hostKey(wildcard), isObject).length > 0;
  return wildcardsOver(fqdn).some(isThere);
}

const isObject = () => true;

const NO_PROBLEMS: Findings = { errors: [], warnings: [] };

/** Most have no problems: one value for all of them. */
function sharedFindings(found: Findings): Findings {
  return found.errors.length + found.warnings.length === 0 ? NO_PROBLEMS : found;
}

/**
 * Key of the root that has the host: the oldest one that is ours and may be a root. An HTTPProxy that is created later, in any namespace,
 * cannot take a host away.
 */
function oldestRoot(read: Reader, key: string, { ingress, httpproxy }: RoutingSettings): string | undefined {
  const allowed = httpproxy.rootNamespaces ?? [];
  const [oldest] = read
    .by(rootsByFqdn, key, proxyIdentity)
    .filter((each) => isServed(each, ingress))
    .filter(({ metadata }) => allowed.length === 0 || allowed.includes(metadata.namespace ?? ''))
    .toSorted(byAge);
  return oldest && `${oldest.metadata.namespace ?? ''}/${oldest.metadata.name ?? ''}`;
}

/** Orders objects by age. Objects of the same second are ordered by their names, as for Contour and the Gateway API. */
function byAge({ metadata: left }: Identity, { metadata: right }: Identity): number {
  return (
    compareBytes(left.creationTimestamp ?? '', right.creationTimestamp ?? '') ||
    compareBytes(left.namespace ?? '', right.namespace ?? '') ||
    compareBytes(left.name ?? '', right.name ?? '')
  );
}

interface Identity {
  readonly metadata: {
    readonly name?: string | undefined;
    readonly namespace?: string | undefined;
    readonly creationTimestamp?: string | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly spec: { readonly ingressClassName?: string | undefined };
}

function proxyIdentity(proxy: HTTPProxy): Identity {
  const { metadata, spec } = proxyView(proxy);
  const { creationTimestamp } = proxy.metadata;
  return { metadata: { ...metadata, creationTimestamp }, spec: { ingressClassName: spec.ingressClassName } };
}

function ingressIdentity({ metadata, spec }: Ingress): Identity {
  const { name, namespace, creationTimestamp, annotations } = metadata;
  const classes = Object.fromEntries(
    Object.entries(annotations ?? {}).filter(([key]) => key.endsWith('/ingress.class')),
  );
  return {
    metadata: { name, namespace, creationTimestamp, annotations: classes },
    spec: { ingressClassName: spec?.ingressClassName },
  };
}

function pathsOf(ingress: Ingress) {
  return { identity: ingressIdentity(ingress), paths: Object.fromEntries(ingressPaths(ingress)) };
}

function ingressView({ metadata, spec }: Ingress): Ingress {
  const { name, namespace, annotations } = metadata;
  return { metadata: { name, namespace, annotations }, spec } as Ingress;
}

function portNames({ spec }: Service): string[] | undefined {
  if (spec?.type === 'ExternalName') return undefined;
  return (spec?.ports ?? []).filter(({ protocol }) => (protocol ?? 'TCP') === 'TCP').map(({ name }) => name ?? '');
}
