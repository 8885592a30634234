// The objects that an object names in its spec: by kind and name, by a field that is called after a kind, or by the name of a Secret,
// ConfigMap, Service or ServiceAccount. Nothing but the object is used, so this holds for kinds of every operator.
import { isRecord, type KubeObject } from '@capstan/kube/cluster';

export interface Reference {
  /** The kind that it names; undefined: `word` is part of the name of the kind. */
  readonly kind?: string;
  readonly word: string;
  /** By default that of the object. */
  readonly namespace?: string;
  readonly name: string;
}

export function referencesOf(object: KubeObject): readonly Reference[] {
  const found = new Map<string, Reference>();
  const add = (reference: Reference) => found.set(JSON.stringify(reference), reference);
  walk((object as { spec?: unknown }).spec, '', object.kind, add);
  return [...found.values()];
}

const NAME_FIELDS: readonly (readonly [RegExp, kind: string])[] = [
  [/secretname$/i, 'Secret'],
  [/configmapname$/i, 'ConfigMap'],
  [/serviceaccountname$/i, 'ServiceAccount'],
  [/servicename$/i, 'Service'],
];

/** Fields whose value is a reference although their name does not end in Ref. */
const PLAIN_FIELDS: Readonly<Record<string, string>> = {
  secret: 'Secret',
  configMap: 'ConfigMap',
  services: 'Service',
  backendRefs: 'Service',
};

function walk(value: unknown, field: string, own: string, add: (reference: Reference) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, field, own, add);
    return;
  }
  if (typeof value === 'string') {
    const kind = NAME_FIELDS.find(([pattern]) => pattern.test(field))?.[1];
    if (kind !== undefined && value !== '') add({ kind, word: '', ...placed(value) });
    return;
  }
  if (!isRecord(value)) return;
  const { name, namespace, kind } = value;
  if (typeof name === 'string' && name !== '') {
    const word = /^(\w+?)(?:Key)?Refs?$/.exec(field)?.[1];
    const explicit =
      typeof kind === 'string' ? kind : (PLAIN_FIELDS[field] ?? (field === 'includes' ? own : undefined));
    const place = typeof namespace === 'string' && namespace !== '' ? { namespace } : {};
    if (word !== undefined || explicit !== undefined)
      add({ ...(explicit !== undefined && { kind: explicit }), word: word ?? '', ...place, name });
  }
  for (const [key, inner] of Object.entries(value)) walk(inner, key, own, add);
}

/** Some fields take `namespace/name`. */
function placed(text: string): Pick<Reference, 'namespace' | 'name'> {
  const [first = '', second] = text.split('/');
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

/** How well the name of a kind fits the word of a field: 0 not at all, else more for a closer fit. */
export function fit(word: string, kind: string): number {
  const [short, long] = [word.toLowerCase(), kind.toLowerCase()];
  if (short === '') return 0;
  if (short === long) return 100;
  if (long.endsWith(short)) return 50 - Math.min(40, long.length - short.length);
  return long.includes(short) || short.includes(long) ? 5 : 0;
}
