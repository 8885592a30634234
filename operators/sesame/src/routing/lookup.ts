// The look-ups of the translation, and which objects are ours. A derivation passes tracked reads: a reader of an object is evaluated again
// when the part that it read has changed. Tests pass maps.
import { EndpointSlice, equal, Ingress, Secret, Service } from '@capstan/kube';
import { derivation, index, type Reader, reading } from '@capstan/reconcile';
import { ExtensionService } from '../kinds/extension-service.ts';
import { HTTPProxy } from '../kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../kinds/tls-certificate-delegation.ts';
import { SERVICE_NAME_LABEL } from './upstream/endpoints.ts';
import { expiryOf } from './upstream/tls-secret.ts';

export interface Lookup {
  proxy(namespace: string, name: string): HTTPProxy | undefined;
  service(namespace: string, name: string): ServiceView | undefined;
  secret(namespace: string, name: string): SecretView | undefined;
  extensionService(namespace: string, name: string): ExtensionService | undefined;
  /** Namespaces that may use a Secret of another one; "*" stands for all. */
  delegations(namespace: string, secretName: string): readonly string[];
}

/** The parts of a Service that routes depend on. */
export interface ServiceView {
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  readonly externalName: string | undefined;
  readonly ports: readonly ServicePortView[];
  /** Those of projectsesame.io, and with `--contour-compat` those of projectcontour.io; without the prefix. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Annotations of projectcontour.io that are not read. */
  readonly ignored?: readonly string[];
}

export interface ServicePortView {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol: string | undefined;
  readonly targetPort: number | string | undefined;
}

export interface SecretView {
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  /** Decoded. */
  readonly data: Readonly<Record<string, Buffer>>;
  /** Since when its certificate is not valid any more; undefined while it is. */
  readonly expired?: string | undefined;
}

interface ServiceObject {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly name?: string | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly spec?: {
    readonly type?: string | undefined;
    readonly externalName?: string | undefined;
    readonly ports?:
      | readonly {
          readonly name?: string | undefined;
          readonly port: number;
          readonly protocol?: string | undefined;
          readonly appProtocol?: string | undefined;
          readonly targetPort?: number | string | undefined;
        }[]
      | undefined;
  };
}

/** A projection: two Services with equal views have equal routes. */
export function serviceView(service: ServiceObject): ServiceView {
  const view = viewWith(service, annotationPrefixes({}));
  const ignored = Object.keys(service.metadata.annotations ?? {}).filter(isContoursAnnotation);
  return ignored.length > 0 ? { ...view, ignored } : view;
}

/** The projection with `--contour-compat`. */
export function contourServiceView(service: ServiceObject): ServiceView {
  return viewWith(service, annotationPrefixes({ contour: true }));
}

function viewWith({ metadata, spec }: ServiceObject, prefixes: readonly string[]): ServiceView {
  const annotations: Record<string, string> = {};
  for (const prefix of prefixes.toReversed())
    for (const [name, value] of Object.entries(metadata.annotations ?? {}))
      if (name.startsWith(prefix)) annotations[name.slice(prefix.length)] = value;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    type: spec?.type ?? 'ClusterIP',
    externalName: spec?.externalName,
    annotations,
    ports: (spec?.ports ?? []).map(({ name = '', port, protocol = 'TCP', appProtocol, targetPort }) => ({
      name,
      port,
      protocol,
      appProtocol,
      targetPort,
    })),
  };
}

interface SecretObject {
  readonly metadata: { readonly namespace?: string | undefined; readonly name?: string | undefined };
  readonly type?: string | undefined;
  readonly data?: Readonly<Record<string, string>> | undefined;
}

export function secretView(secret: SecretObject, expired?: string): SecretView {
  return new EncodedSecret(secret, expired);
}

/** Keeps the text that the cache has, and decodes it when it is asked for: a certificate is in memory once, not twice. */
class EncodedSecret implements SecretView {
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  readonly encoded: Readonly<Record<string, string>>;
  readonly expired: string | undefined;

  constructor({ metadata, type = 'Opaque', data = {} }: SecretObject, expired: string | undefined) {
    this.namespace = metadata.namespace ?? '';
    this.name = metadata.name ?? '';
    this.type = type;
    this.encoded = data;
    this.expired = expired;
  }

  get data(): Readonly<Record<string, Buffer>> {
    return Object.fromEntries(Object.entries(this.encoded).map(([key, text]) => [key, Buffer.from(text, 'base64')]));
  }
}

/** `NAMESPACE/NAME`, or a name in the namespace of the object that has it. */
export function secretReference(text: string, namespace: string): { namespace: string; name: string } {
  const at = text.indexOf('/');
  return at === -1 ? { namespace, name: text } : { namespace: text.slice(0, at), name: text.slice(at + 1) };
}

export function isDelegated(lookup: Lookup, secret: { namespace: string; name: string }, to: string): boolean {
  if (secret.namespace === to) return true;
  const targets = lookup.delegations(secret.namespace, secret.name);
  return targets.includes(to) || (targets.length === 1 && targets[0] === '*');
}

/** The fields of a Service that are read: the others are not kept in memory. */
export const SERVICE_READ = reading(Service, 'everywhere', {
  fields: ['metadata.annotations', 'spec.type', 'spec.externalName', 'spec.ports', 'status.loadBalancer'],
});

const SLICE_READ = reading(EndpointSlice, 'everywhere', {
  fields: ['addressType', 'ports', 'endpoints.addresses', 'endpoints.conditions.ready'],
});

/** Every kind that routes are computed from. */
export const ROUTE_READS = [
  HTTPProxy,
  reading(TLSCertificateDelegation, 'everywhere'),
  // A feature that can be disabled, with its permission.
  reading(ExtensionService, 'everywhere', { optional: true }),
  SERVICE_READ,
  SLICE_READ,
  reading(Ingress, 'everywhere'),
  reading(Secret, 'referenced'),
];

export const delegationsBySecret = index(TLSCertificateDelegation, 'secret', ({ metadata, spec }) =>
  spec.delegations.map(({ secretName }) => `${metadata.namespace ?? ''}/${secretName}`),
);

export const slicesByService = index(EndpointSlice, 'service', ({ metadata }) => {
  const service = metadata.labels?.[SERVICE_NAME_LABEL];
  return service === undefined ? [] : [`${metadata.namespace ?? ''}/${service}`];
});

/** One view for all that use a Secret, so that it is checked and encoded once and not with every edit of a route. */
const secrets = derivation<SecretView | null>({
  name: 'secret',
  compute({ key, read }) {
    const at = key.indexOf('/');
    const found = read.get(Secret, { namespace: key.slice(0, at), name: key.slice(at + 1) }, secretContent);
    if (!found) return null;
    const view = secretView(found);
    const expiry = expiryOf(view);
    return expiry !== undefined && read.reached(expiry) ? secretView(found, new Date(expiry).toISOString()) : view;
  },
  equals: (left, right) => equal({ ...left }, { ...right }),
});

/** Annotations of Services are read as these classes have it; without them, only those of projectsesame.io. */
export function readLookup(read: Reader, { contour = false }: ServedClasses = {}): Lookup {
  const view = contour ? contourServiceView : serviceView;
  // Routes of one host use the same few Services again and again: one read of each is enough.
  const services = new Map<string, ServiceView | undefined>();
  const service = (namespace: string, name: string) => {
    const key = `${namespace}/${name}`;
    let found = services.get(key);
    if (found === undefined && !services.has(key)) {
      found = read.get(Service, { namespace, name }, view);
      services.set(key, found);
    }
    return found;
  };
  return {
    proxy: (namespace, name) => read.get(HTTPProxy, { namespace, name }, proxyView),
    service,
    secret: (namespace, name) => read.derived(secrets, `${namespace}/${name}`) ?? undefined,
    extensionService: (namespace, name) =>
      read.access(ExtensionService) === 'served'
        ? read.get(ExtensionService, { namespace, name }, extensionView)
        : undefined,
    delegations: (namespace, secretName) =>
      read
        .by(delegationsBySecret, `${namespace}/${secretName}`, delegationsOf)
        .flatMap((delegations) =>
          delegations.filter((each) => each.secretName === secretName).flatMap((each) => each.targetNamespaces),
        ),
  };
}

/** Status and bookkeeping of a proxy change no route. */
export function proxyView({ apiVersion, kind, metadata, spec }: HTTPProxy): HTTPProxy {
  const { name, namespace, annotations } = metadata;
  const classes = Object.fromEntries(
    Object.entries(annotations ?? {}).filter(([key]) => key.endsWith('/ingress.class')),
  );
  return {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      annotations: classes,
    },
    spec,
  } as HTTPProxy;
}

function extensionView({ metadata, spec }: ExtensionService): ExtensionService {
  return { metadata: { name: metadata.name, namespace: metadata.namespace }, spec } as ExtensionService;
}

function secretContent({ metadata, type, data }: Secret): Pick<Secret, 'metadata' | 'type' | 'data'> {
  const { name, namespace } = metadata;
  return {
    metadata: { name, namespace },
    ...(type !== undefined && { type }),
    ...(data !== undefined && { data }),
  };
}

function delegationsOf({ spec }: TLSCertificateDelegation): TLSCertificateDelegation['spec']['delegations'] {
  return spec.delegations;
}

/** An object with a class: in an annotation or in the spec. */
export interface ClassedObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec?: { readonly ingressClassName?: string | undefined } | undefined;
}

const OWN_PREFIX = 'projectsesame.io/';
const CONTOURS_PREFIX = 'projectcontour.io/';
export const DEFAULT_CLASS = 'sesame';
const CONTOURS_CLASS = 'contour';

/** Which classes an instance serves. */
export interface ServedClasses {
  /** Names that are separated by commas; without one, objects without a class and those of the class `sesame`. */
  readonly className?: string | undefined;
  /** `--contour-compat`: annotations of Contour are read, and without a name the class `contour` is served too. */
  readonly contour?: boolean | undefined;
}

/** The prefixes of annotations that are read; the first one wins. Those of Contour are read with `--contour-compat`. */
export function annotationPrefixes({ contour = false }: ServedClasses): readonly string[] {
  return contour ? [OWN_PREFIX, CONTOURS_PREFIX] : [OWN_PREFIX];
}

export function isContoursAnnotation(name: string): boolean {
  return name.startsWith(CONTOURS_PREFIX);
}

/** The problem of an annotation of Contour that is not read. */
export function ignoredAnnotation(name: string): string {
  return `annotation ${name}: it is ignored without --contour-compat; use ${OWN_PREFIX}${name.slice(CONTOURS_PREFIX.length)}, or set contourCompat of the SesameDeployment`;
}

/** The class that an object names, or the empty text. */
export function classOf({ metadata, spec }: ClassedObject, classes: ServedClasses): string {
  const names = [...annotationPrefixes(classes), 'kubernetes.io/'].map((prefix) => `${prefix}ingress.class`);
  const annotation = names.find((name) => metadata.annotations?.[name] !== undefined);
  return annotation === undefined ? (spec?.ingressClassName ?? '') : (metadata.annotations?.[annotation] ?? '');
}

/** Whether there is an instance that serves both: the class `sesame` is that of objects without one. */
export function isSameClass(left: ClassedObject, right: ClassedObject): boolean {
  const either = { contour: true };
  return (classOf(left, either) || DEFAULT_CLASS) === (classOf(right, either) || DEFAULT_CLASS);
}

export function isServed(source: ClassedObject, { className = '', contour = false }: ServedClasses): boolean {
  const found = classOf(source, { contour });
  const classes = className
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  if (classes.length > 0) return classes.includes(found);
  return found === '' || found === DEFAULT_CLASS || (contour && found === CONTOURS_CLASS);
}
