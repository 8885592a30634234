// Objects of a package as they are installed: with the user's labels and annotations, and with the address of the package's Service in
// webhooks. Only objects that need the certificate authority of the runtime wait for it.
import type { Kind, KubeObject } from '@capstan/kube';
import type { PackageKind } from '../packages/package-kind.ts';
import type { PackageObject as FileObject } from '../xpkg/package.ts';
import { isWebhookConfiguration, kindOfObject } from './payload-kinds.ts';

export interface WebhookTarget {
  /** Base64 of PEM. */
  readonly caBundle: string;
  readonly service: { readonly name: string; readonly namespace: string; readonly port: number };
}

export interface EnrichInput {
  readonly kind: PackageKind;
  readonly packageName: string;
  readonly kinds: readonly Kind[];
  readonly objects: readonly FileObject[];
  readonly commonLabels: Readonly<Record<string, string>> | undefined;
  readonly commonAnnotations: Readonly<Record<string, string>> | undefined;
  /** Undefined while it is not there. */
  readonly target: WebhookTarget | undefined;
}

export interface PayloadObject {
  readonly kind: Kind;
  readonly object: KubeObject;
  /** Its webhooks have no server to call yet. */
  readonly waits: boolean;
}

export function enrich(input: EnrichInput): readonly PayloadObject[] {
  return input.objects.flatMap((object) => {
    const kind = kindOfObject(input.kinds, object);
    return kind === undefined ? [] : [enriched(input, kind, object)];
  });
}

function enriched(input: EnrichInput, kind: Kind, object: KubeObject): PayloadObject {
  const labelled = withCommon(object, input);
  if (isWebhookConfiguration(kind)) return { kind, ...webhookConfiguration(input, kind, labelled) };
  return { kind, ...crd(input, labelled) };
}

function withCommon(object: KubeObject, { commonLabels, commonAnnotations }: EnrichInput): KubeObject {
  // Other metadata in a package file (uid, resourceVersion and the like) is ignored.
  const { name, labels, annotations } = object.metadata;
  const { status: _status, ...content } = object as KubeObject & { status?: unknown };
  const allLabels = { ...labels, ...commonLabels };
  const allAnnotations = { ...annotations, ...commonAnnotations };
  return {
    ...content,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(Object.keys(allLabels).length > 0 && { labels: allLabels }),
      ...(Object.keys(allAnnotations).length > 0 && { annotations: allAnnotations }),
    },
  };
}

interface Webhook {
  clientConfig?: Record<string, unknown>;
}

/** A package's configuration has one name, whatever its file contains: two versions of it must not both be called. */
function webhookConfiguration(input: EnrichInput, kind: Kind, object: KubeObject): Omit<PayloadObject, 'kind'> {
  const { kind: packageKind, packageName, target, objects } = input;
  const alike = objects.filter((other) => other.kind === kind.kind).length;
  const base = `crossplane-${packageKind.kind.toLowerCase()}-${packageName}`;
  const name = alike > 1 ? `${base}-${object.metadata.name ?? ''}` : base;
  const { webhooks = [] } = object as { webhooks?: Webhook[] };
  const led = webhooks.map((webhook) => ({ ...webhook, clientConfig: clientConfig(webhook.clientConfig, target) }));
  return {
    object: { ...object, metadata: { ...object.metadata, name }, webhooks: led } as KubeObject,
    waits: target === undefined && webhooks.length > 0,
  };
}

interface Converted extends KubeObject {
  spec?: { conversion?: { strategy?: string; webhook?: { clientConfig?: Record<string, unknown> } } };
}

function crd(input: EnrichInput, object: Converted): Omit<PayloadObject, 'kind'> {
  const conversion = object.spec?.conversion;
  if (conversion?.strategy !== 'Webhook') return { object, waits: false };
  const webhook = { ...conversion.webhook, clientConfig: clientConfig(conversion.webhook?.clientConfig, input.target) };
  const changed = { ...object, spec: { ...object.spec, conversion: { ...conversion, webhook } } };
  return { object: changed, waits: input.target === undefined };
}

/** Its path stays; whom it leads to is ours to say. */
function clientConfig(given: Record<string, unknown> = {}, target: WebhookTarget | undefined) {
  if (target === undefined) return given;
  const { service, url: _url, ...rest } = given as { service?: Record<string, unknown>; url?: string };
  return { ...rest, caBundle: target.caBundle, service: { ...service, ...target.service } };
}
