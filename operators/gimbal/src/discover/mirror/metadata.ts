// Labels and annotations of discovered objects. The source's own are copied first, then ours are laid over them. An annotation on the
// object lists the copied keys: a key that disappears there disappears here, and a key that another client set here stays. The same
// annotation marks the object as created by a discoverer. An object without it is never removed.

import { BACKEND_LABEL, GROUP, LABEL_FAMILIES, SERVICE_LABEL } from '../../kinds/group.ts';
import { labelValue } from '../names/discovered-name.ts';

export type Labels = Readonly<Record<string, string>>;

/** Which keys were copied: `{"labels":["app"],"annotations":[]}`. */
export const MIRROR_ANNOTATION = `${GROUP}/mirror`;

/** Where objects come from. */
export interface Origin {
  readonly backend: string;
  /** The service's name there. */
  readonly service: string;
}

export interface Metadata {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
}

/** The metadata of an object that is built from a source with these. */
export function mirroredMetadata(
  origin: Origin,
  source: { readonly labels?: Labels | undefined; readonly annotations?: Labels | undefined },
  more: Labels = {},
): Metadata {
  const labels = copied(source.labels, more);
  const annotations = copied(source.annotations);
  return {
    labels: { ...labels, ...originLabels(origin), ...more },
    annotations: {
      ...annotations,
      [MIRROR_ANNOTATION]: JSON.stringify({
        labels: Object.keys(labels).toSorted(),
        annotations: Object.keys(annotations).toSorted(),
      }),
    },
  };
}

/** Every object of a backend carries these. */
export function originLabels({ backend, service }: Origin): Record<string, string> {
  return { [BACKEND_LABEL]: labelValue(backend), [SERVICE_LABEL]: labelValue(service) };
}

/** Returns the keys that the object lists as copied; undefined if no discoverer created the object. */
export function copiedKeys(annotations: Labels | undefined): CopiedKeys | undefined {
  const text = annotations?.[MIRROR_ANNOTATION];
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const keys: { labels?: unknown; annotations?: unknown } = typeof value === 'object' && value !== null ? value : {};
    return { labels: texts(keys.labels), annotations: texts(keys.annotations) };
  } catch {
    // A user wrote over it: it is ours all the same, and is fixed with the next write.
    return { labels: [], annotations: [] };
  }
}

export interface CopiedKeys {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
}

/** Whether a discoverer, of any family, made it: such objects are never discovered again, or two clusters would mirror each other for ever. */
export function isMirror(labels: Labels | undefined): boolean {
  return LABEL_FAMILIES.some((family) => labels?.[`${family}/backend`] !== undefined);
}

function copied(source: Labels = {}, over: Labels = {}): Record<string, string> {
  const kept = Object.entries(source).filter(([key]) => isCopied(key) && !Object.hasOwn(over, key));
  return Object.fromEntries(kept);
}

/** Metadata that is true only of the source is not copied. */
function isCopied(key: string): boolean {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? '' : key.slice(0, slash);
  return !LEFT_KEYS.has(key) && !LEFT_PREFIXES.has(prefix) && !MARKS.test(prefix);
}

const LEFT_KEYS: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'control-plane.alpha.kubernetes.io/leader',
  'kubernetes.io/service-name',
  'service.kubernetes.io/headless',
]);

/** Marks by which a Capstan there knows its own objects: here they would claim an owner that is in another cluster. */
const MARKS = /(?:^|\.)capstan\.dev$/;

// Labels of the families are ours to write; a source that carries one is not discovered at all.
const LEFT_PREFIXES: ReadonlySet<string> = new Set([
  'endpoints.kubernetes.io',
  'endpointslice.kubernetes.io',
  ...LABEL_FAMILIES,
]);

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}
