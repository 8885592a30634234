// Finds the dependencies between unhealthy objects that the objects themselves show: messages of conditions that name the other
// object, owner references, and references in the spec. `rootCauses` of the runtime finds the roots among them.
import { isRecord, type KubeObject } from '@capstan/kube/cluster';

export interface Unhealthy {
  /** The kind without its group. */
  readonly kind: string;
  readonly object: KubeObject;
  /** The message of the condition that reports the problem. */
  readonly message: string;
}

/** For each object the indexes of those that it depends on; no entry depends on itself, and there are no cycles of two. */
export function dependencies(all: readonly Unhealthy[]): readonly (readonly number[])[] {
  const candidates = candidatesIn(all);
  const by = (from: number, to: number) => {
    const [one, other] = [all[from], all[to]];
    return one === undefined || other === undefined ? 0 : evidence(one, other);
  };
  return all.map((one, from) =>
    [...candidates(one)]
      .filter((to) => to !== from && by(from, to) > by(to, from))
      .toSorted((left, right) => left - right),
  );
}

/**
 * Returns the objects that one may depend on: those with a name that its message or its spec contains, in its namespace or in none, and
 * those that it owns. Comparing all objects with each other would take minutes where ten thousand are broken.
 */
function candidatesIn(all: readonly Unhealthy[]): (one: Unhealthy) => Set<number> {
  const byName = new Map<string, number[]>();
  const byOwner = new Map<string, number[]>();
  const add = (index: Map<string, number[]>, key: string, at: number) => {
    const known = index.get(key);
    if (known === undefined) index.set(key, [at]);
    else known.push(at);
  };
  for (const [at, { object }] of all.entries()) {
    const { name = '', namespace = '', ownerReferences = [] } = object.metadata;
    add(byName, `${namespace}/${name.toLowerCase()}`, at);
    for (const { uid } of ownerReferences) add(byOwner, uid, at);
  }
  return ({ message, object }) => {
    const { namespace = '', uid = '' } = object.metadata;
    const found = new Set<number>(byOwner.get(uid));
    const texts = new Set(namesIn(message));
    collectNames((object as { spec?: unknown }).spec, texts);
    for (const text of texts)
      for (const place of new Set([namespace, '']))
        for (const at of byName.get(`${place}/${text.toLowerCase()}`) ?? []) found.add(at);
    return found;
  };
}

/** Texts of a message that may be names: words with dots and colons, and their beginnings up to each of these. */
function namesIn(message: string): string[] {
  return (message.match(/[\w][\w.:-]*/g) ?? []).flatMap((word) => {
    const ends = [...word.matchAll(/[.:]/g)].map(({ index }) => word.slice(0, index));
    return [...ends, word];
  });
}

function collectNames(value: unknown, into: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) collectNames(item, into);
  else if (isRecord(value)) {
    if (typeof value['name'] === 'string') into.add(value['name']);
    for (const inner of Object.values(value)) collectNames(inner, into);
  }
}

/** How clearly an object shows that it depends on another: 3 by its message, 2 as its owner, 1 by a reference, 0 not at all. */
function evidence(one: Unhealthy, other: Unhealthy): number {
  const { name = '', namespace, uid } = other.object.metadata;
  const isNear = namespace === undefined || namespace === one.object.metadata.namespace;
  if (isNear && names(one.message, other.kind, name)) return 3;
  const owner = one.object.metadata.uid;
  if (owner !== undefined && other.object.metadata.ownerReferences?.some((reference) => reference.uid === owner))
    return 2;
  if (uid !== undefined && one.object.metadata.ownerReferences?.some((reference) => reference.uid === uid)) return 0;
  return isNear && refersTo((one.object as { spec?: unknown }).spec, other.kind, name, '') ? 1 : 0;
}

/** Whether a message names the object: `secret/x`, `Secret default/x`, `KafkaProxy x`. */
function names(message: string, kind: string, name: string): boolean {
  const pattern = `\\b${escaped(kind)}s?(?:\\.[a-z0-9.-]+)?[ /]"?(?:[a-z0-9-]+/)?${escaped(name)}(?![\\w-])`;
  return new RegExp(pattern, 'i').test(message);
}

/** `filterRefs: [{name: x}]`, `proxyRef: {kind: KafkaProxy, name: x}`: the kind is in the reference, or in its field's name. */
function refersTo(value: unknown, kind: string, name: string, field: string): boolean {
  if (Array.isArray(value)) return value.some((item) => refersTo(item, kind, name, field));
  if (!isRecord(value)) return false;
  const ofKind = value['kind'] === undefined ? isNamedAfter(field, kind) : value['kind'] === kind;
  if (value['name'] === name && ofKind) return true;
  return Object.entries(value).some(([key, inner]) => refersTo(inner, kind, name, key));
}

function isNamedAfter(field: string, kind: string): boolean {
  const word = /^(\w+?)Refs?$/.exec(field)?.[1]?.toLowerCase();
  if (word === undefined) return false;
  return kind.toLowerCase().includes(word) || word.includes(kind.toLowerCase());
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
