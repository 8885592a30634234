// The look-ups of the translation. A derivation passes tracked reads, so that a change reaches exactly the readers of the changed object;
// tests pass maps.
import type { ExtensionService } from '../kinds/extension-service.ts';
import type { HTTPProxy } from '../kinds/http-proxy.ts';
import { annotationPrefixes, isContoursAnnotation } from './classes.ts';

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
