// The fields of a kind that a cache keeps: the union of its readers' declarations. The metadata that the runtime itself needs is always
// kept: identity, labels, owners, finalizers, its own marks and managed fields.
import {
  type CompiledLabelSelector,
  compileLabelSelector,
  type KubeObject,
  type LabelSelector,
} from '@capstan/kube/cluster';
import { ReadErrors } from '../errors.ts';
import { parsePath } from '../field-path.ts';
import { INVENTORY_LABEL } from '../marks.ts';

/** The need of one reader. */
export interface FieldNeed {
  /** `spec.ports`, `metadata.annotations[example.com/key]`; undefined: the whole object. */
  readonly paths?: readonly string[];
  /** Only of objects with such labels; of all others nothing but their identity. */
  readonly labels?: LabelSelector;
}

/**
 * The same object with the needed fields alone. Lists are passed through: `spec.containers.image` is the image of each
 * container. With `guard`, reading a field that was dropped throws: for tests.
 */
export type FieldFilter = <T extends KubeObject>(object: T) => T;

export function createFieldFilter(needs: readonly FieldNeed[], { guard = false } = {}): FieldFilter {
  const compiled = needs.map(({ paths, labels }) => ({
    paths: paths?.map(parsePath),
    selector: labels === undefined ? undefined : compileLabelSelector(labels),
  }));
  /** By which of the needs an object meets. */
  const trees = new Map<string, Tree>();
  const treeOf = (object: KubeObject): Tree => {
    const met = compiled.map(({ selector }) => isMet(selector, object));
    const id = met.map(Number).join('');
    const known = trees.get(id);
    if (known !== undefined) return known;
    const created = treeFor(compiled.filter((_, index) => met[index]).map(({ paths }) => paths));
    trees.set(id, created);
    return created;
  };
  return (object) => {
    const tree = treeOf(object);
    if (tree === ALL) return object;
    const where = guard ? `${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}` : undefined;
    return kept(object, tree, where, '') as typeof object;
  };
}

function isMet(selector: CompiledLabelSelector | undefined, { metadata: { labels = {} } }: KubeObject): boolean {
  // Our own children are compared with their plans, whatever their labels are.
  return selector === undefined || labels[INVENTORY_LABEL] !== undefined || selector.matches(labels);
}

/** `ALL`: everything below. */
type Tree = typeof ALL | Branch;
const ALL = 'all';

/** The fields that are kept of an object at one place. */
class Branch {
  readonly fields = new Map<string, Tree>();
  /** An object without fields yet. V8 learns how many it gets at this place: one that grows field by field takes half as much again. */
  readonly Kept: new () => Record<string, unknown>;

  constructor() {
    function Kept() {}
    // An ordinary object for everybody else.
    Kept.prototype = Object.prototype;
    this.Kept = Kept as unknown as Branch['Kept'];
  }
}

const IDENTITY = [
  'apiVersion',
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.resourceVersion',
];
const TIMES = ['metadata.generation', 'metadata.creationTimestamp', 'metadata.deletionTimestamp'];
const KEPT = [...IDENTITY, ...TIMES].map(parsePath);
const RUNTIME = ['labels', 'ownerReferences', 'finalizers', 'managedFields'].map((field) => ['metadata', field]);

function treeFor(needs: readonly (readonly (readonly string[])[] | undefined)[]): Tree {
  if (needs.includes(undefined)) return ALL;
  const root = new Branch();
  for (const path of needs.length === 0 ? KEPT : [...KEPT, ...RUNTIME, ...needs.flatMap((paths) => paths ?? [])])
    add(root, path);
  if (needs.length === 0) return root;
  add(root, ['metadata', 'annotations', OWN_ANNOTATIONS]);
  // By the mark on its pod template a rollout that was undone is recognised.
  add(root, ['spec', 'template', 'metadata', 'annotations', OWN_ANNOTATIONS]);
  return root;
}

/** Stands for every annotation of ours: `capstan.dev/…`, `original.capstan.dev/…`. No key can be written so. */
const OWN_ANNOTATIONS = '';
const OWN = /(?:^|\.)capstan\.dev\//;

function add({ fields }: Branch, [first, ...rest]: readonly string[]): void {
  if (first === undefined) return;
  const below = fields.get(first);
  if (below === ALL) return;
  if (rest.length === 0) {
    fields.set(first, ALL);
    return;
  }
  const next = below ?? new Branch();
  fields.set(first, next);
  add(next, rest);
}

/** kubectl's copy of the whole object is not kept with other annotations: no reader needs it twice. */
const ANNOTATIONS = 'metadata.annotations';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

function kept(value: unknown, tree: Tree, guarded: string | undefined, at: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (tree === ALL && at === ANNOTATIONS && LAST_APPLIED in value) {
    const { [LAST_APPLIED]: _copy, ...others } = value;
    return others;
  }
  if (tree === ALL) return value;
  if (Array.isArray(value)) return value.map((item) => kept(item, tree, guarded, at));
  const { fields, Kept } = tree;
  const own = fields.get(OWN_ANNOTATIONS);
  const result = new Kept();
  for (const field in value) {
    const part = (value as Readonly<Record<string, unknown>>)[field];
    const below = fields.get(field) ?? (own !== undefined && OWN.test(field) ? own : undefined);
    if (below === ALL && (typeof part !== 'object' || part === null)) result[field] = part;
    else if (below !== undefined) result[field] = kept(part, below, guarded, pathOf(at, field));
    // Not enumerable: copies and comparisons are those of an object without the field.
    else if (guarded !== undefined) {
      Object.defineProperty(result, field, {
        get() {
          throw ReadErrors.UndeclaredField(guarded, pathOf(at, field));
        },
      });
    }
  }
  return result;
}

function pathOf(at: string, field: string): string {
  return at === '' ? field : `${at}.${field}`;
}
