// Finds the dependencies between unhealthy objects that the objects themselves show: messages of conditions that name the other
// object, owner references, and references in the spec. `rootCauses` of the runtime finds the roots among them.
import { isRecord, type KubeObject } from '@capstan/kube/cluster';

export interface Unhealthy {
  /** The kind without its group. */
  readonly kind: string;
  readonly object: KubeObject;
  /** Of the condition that reports the problem. */
  readonly message: string;
}

/** For each object the indexes of those that it depends on; no entry depends on itself, and there are no cycles of two. */
export function dependencies(all: readonly Unhealthy[]): readonly (readonly number[])[] {
  const strength = all.map((one, at) => all.map((other, index) => (at === index ? 0 : evidence(one, other))));
  const by = (from: number, to: number) => strength[from]?.[to] ?? 0;
  return all.map((_, from) => all.flatMap((_other, to) => (by(from, to) > by(to, from) ? [to] : [])));
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
