// The body of an applied child: the planned object, the marks by which we find and compare it, and the owner reference where Kubernetes'
// garbage collector can follow it.
import { canonicalJson, type KubeObject, type OwnerReference } from '@capstan/kube/cluster';
import { plainDigest } from '../digest.ts';
import { describeOwner } from '../inventory.ts';
import {
  ADOPTED_ANNOTATION,
  APPLIED_ANNOTATION,
  CAUSE_ANNOTATION,
  EXACT_ANNOTATION,
  HELD_ANNOTATION,
  INVENTORY_LABEL,
  MEMORY_ANNOTATION,
  OWNER_ANNOTATION,
  REMOVALS_ANNOTATION,
  ROLLED_ANNOTATION,
  TEMPLATE_ANNOTATION,
  TEMPLATE_HISTORY_ANNOTATION,
} from '../marks.ts';
import type { Ownership } from '../ownership/index.ts';
import type { AppliedChild } from '../plan/index.ts';
import { exactMark } from './exactness.ts';

/** A digest from which the content cannot be guessed: of a Secret that we apply, in its own annotation. */
export type KeyedDigest = (content: unknown) => string;

export interface ChildBody {
  /** The body without the parts that change nothing by themselves: the applied digest, the template history, the cause. */
  readonly body: KubeObject;
  readonly digest: string;
  /** The digest of the pod template, for kinds that have one. */
  readonly template: string | undefined;
}

/** How many templates are remembered: as many revisions as a Deployment keeps by default. */
const TEMPLATE_HISTORY = 10;

/**
 * The planned child with marks and owner reference, and its digest. Yielded fields do not count in the digest. An adopted one
 * gets no owner reference: Kubernetes' garbage collector would delete it with its owner.
 */
export function childBody(
  child: AppliedChild,
  ownership: Ownership,
  keyed: KeyedDigest = plainDigest,
  isAdopted = false,
): ChildBody {
  const template = withTemplateMark(child.object);
  const whole = withMarks(template.object, ownership, child);
  const marked = isAdopted ? withoutOwners(whole) : whole;
  const digestOf = child.kind.sensitive ? keyed : plainDigest;
  const digest = digestOf(withoutPaths(marked, child.yields));
  return { body: marked, digest, template: template.digest };
}

/**
 * The object that goes over the wire: the body, its digest, and the history of templates. The uid of the one that is there
 * is a precondition: one that has taken its name since is not overwritten.
 */
export function bodyToSend(
  created: ChildBody,
  observed: KubeObject | undefined,
  { fields, yields }: Pick<AppliedChild, 'fields' | 'yields'> = SHARED,
): KubeObject {
  const annotations: Record<string, string> = {
    ...created.body.metadata.annotations,
    [APPLIED_ANNOTATION]: created.digest,
  };
  if (fields === 'exact') annotations[EXACT_ANNOTATION] = exactMark(observed, yields);
  const before = observed?.metadata.annotations ?? {};
  // As for a held template below. Removals that belong to the same plan are still counted.
  if (before[REMOVALS_ANNOTATION] && before[APPLIED_ANNOTATION] !== created.digest)
    annotations[REMOVALS_ANNOTATION] = '';
  if (created.template !== undefined) {
    const earlier = templateHistory(observed).filter((digest) => digest !== created.template);
    annotations[TEMPLATE_HISTORY_ANNOTATION] = [created.template, ...earlier].slice(0, TEMPLATE_HISTORY).join(' ');
    const rolledFor = templateMark(observed) === created.template ? lastRoll(observed) : undefined;
    if (rolledFor !== undefined) annotations[ROLLED_ANNOTATION] = rolledFor;
    // Taken over and emptied, so that the next apply, which does not mention it, removes it.
    if (heldFrom(observed) !== undefined) annotations[HELD_ANNOTATION] = '';
  }
  const uid = observed?.metadata.uid;
  return {
    ...created.body,
    metadata: { ...created.body.metadata, ...(uid === undefined ? {} : { uid }), annotations },
  };
}

const SHARED = { fields: 'shared', yields: [] } as const;

export function templateHistory(observed: KubeObject | undefined): string[] {
  return (observed?.metadata.annotations?.[TEMPLATE_HISTORY_ANNOTATION] ?? '').split(' ').filter(Boolean);
}

/** Returns the cause that the live template was written for, as JSON. */
export function lastRoll(observed: KubeObject | undefined): string | undefined {
  const { [ROLLED_ANNOTATION]: rolled, [CAUSE_ANNOTATION]: cause } = observed?.metadata.annotations ?? {};
  return rolled || cause;
}

export function heldFrom(observed: KubeObject | undefined): string | undefined {
  return observed?.metadata.annotations?.[HELD_ANNOTATION] || undefined;
}

/** The template digest that the live object carries. */
export function templateMark(object: unknown): string | undefined {
  return (object as WithTemplate | undefined)?.spec?.template?.metadata?.annotations?.[TEMPLATE_ANNOTATION];
}

/** Only our mark of the live template: a user who restarts pods adds another annotation, and rolls nothing back. */
export function templateProbe(mark: string): KubeObject {
  const template = { metadata: { annotations: { [TEMPLATE_ANNOTATION]: mark } } };
  return { apiVersion: '', kind: '', metadata: {}, spec: { template } } as KubeObject;
}

/** Labels, annotations and owner reference that every child of ours carries. */
export function marksFor(
  ownership: Ownership,
  child: { namespace?: string | undefined },
  controls = true,
): KubeObject['metadata'] {
  const found = ownerReference(ownership.object, child.namespace);
  const reference = found === undefined || controls ? found : { ...found, controller: false };
  return {
    labels: { [INVENTORY_LABEL]: ownership.inventory },
    annotations: { [OWNER_ANNOTATION]: describeOwner(ownership.owner) },
    ...(reference === undefined ? {} : { ownerReferences: [reference] }),
  };
}

/** Undefined where Kubernetes does not follow owner references: across namespaces, and from cluster-scoped to namespaced owners. */
export function ownerReference(owner: KubeObject, childNamespace: string | undefined): OwnerReference | undefined {
  const { namespace, name, uid } = owner.metadata;
  if (namespace !== undefined && namespace !== childNamespace) return undefined;
  if (!name || !uid) return undefined;
  return { apiVersion: owner.apiVersion, kind: owner.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

interface WithTemplate {
  spec?: { template?: { metadata?: KubeObject['metadata'] } };
}

function withTemplateMark(object: KubeObject): { object: KubeObject; digest: string | undefined } {
  const { spec } = object as WithTemplate;
  const template = spec?.template;
  if (!object.apiVersion.startsWith('apps/') || template === undefined) return { object, digest: undefined };
  const digest = plainDigest(template).slice(0, 19);
  const metadata = {
    ...template.metadata,
    annotations: { ...template.metadata?.annotations, [TEMPLATE_ANNOTATION]: digest },
  };
  const marked = { ...object, spec: { ...spec, template: { ...template, metadata } } };
  return { object: marked, digest };
}

function withMarks(
  object: KubeObject,
  ownership: Ownership,
  { memory, controls }: Pick<AppliedChild, 'memory' | 'controls'>,
): KubeObject {
  const marks = marksFor(ownership, object.metadata, controls);
  const annotations = { ...object.metadata.annotations, ...marks.annotations };
  if (memory !== undefined) annotations[MEMORY_ANNOTATION] = canonicalJson(memory);
  const ownerReferences = [...(object.metadata.ownerReferences ?? []), ...(marks.ownerReferences ?? [])];
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...object.metadata.labels, ...marks.labels },
      annotations,
      ...(ownerReferences.length > 0 ? { ownerReferences } : {}),
    },
  };
}

function withoutOwners(object: KubeObject): KubeObject {
  const { ownerReferences: _owners, ...metadata } = object.metadata;
  const annotations = { ...metadata.annotations, [ADOPTED_ANNOTATION]: 'true' };
  return { ...object, metadata: { ...metadata, annotations } };
}

/** Returns the object without the fields at these paths (`spec.replicas`); shares its unchanged parts. */
export function withoutPaths(object: KubeObject, paths: readonly string[]): KubeObject {
  let result = object as unknown as Record<string, unknown>;
  for (const path of paths) result = withoutPath(result, path);
  return result as unknown as KubeObject;
}

/** Names may contain dots (`metadata.labels.app.kubernetes.io/name`), so a path is split according to the object. */
function withoutPath(value: Record<string, unknown>, path: string): Record<string, unknown> {
  if (Object.hasOwn(value, path)) {
    const { [path]: _removed, ...others } = value;
    return others;
  }
  for (const [name, field] of Object.entries(value)) {
    if (!path.startsWith(`${name}.`) || typeof field !== 'object' || field === null || Array.isArray(field)) continue;
    const rest = withoutPath(field as Record<string, unknown>, path.slice(name.length + 1));
    if (rest !== field) return { ...value, [name]: rest };
  }
  return value;
}
