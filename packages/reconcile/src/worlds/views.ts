// Aliases are one view: objects of several kinds, or in several forms, enter one table in one normal form. The object that
// a view was built from is remembered, because statuses, finalizers and owner references belong to that one.
import type { DefinedKind } from '@capstan/kube';
import {
  type InformerView,
  type Kind,
  type KubeObject,
  keyOfObject,
  kindId,
  type Logger,
  type ObjectKey,
} from '@capstan/kube/cluster';
import { settledResult } from '../guard.ts';

export interface Origin {
  /** The kind under which the object was written. */
  readonly kind: Kind;
  readonly object: KubeObject;
}

export interface Views {
  /** The normal form of an object, remembered with its origin. */
  viewOf(kind: Kind, object: KubeObject): KubeObject;
  /** Returns the origin of a view; undefined when it is no view, or was rebuilt from one (tables share equal parts). */
  originOf(view: KubeObject): Origin | undefined;
}

/** Called when an object could not be normalised, and without an error when it can be again. */
export type OnView = (kind: Kind, object: KubeObject, error: unknown) => void;

/** The object that each view was built from. */
const ORIGINS = new WeakMap<KubeObject, Origin>();

/** Returns the origin of a view as it was given to a table; undefined for an object that is no view. */
export function givenOrigin(view: object): Origin | undefined {
  return ORIGINS.get(view as KubeObject);
}

export function createViews(logger: Logger, onView?: OnView): Views {
  const failed = new Set<string>();
  return {
    viewOf(kind, object) {
      if (!isDefined(kind)) return object;
      try {
        const view = settledResult('normalise', kind.viewOf(object));
        if (failed.size > 0 && failed.delete(nameOf(kind, object))) onView?.(kind, object, undefined);
        if (view !== object) ORIGINS.set(view, { kind: writtenAs(kind, object), object });
        return view;
      } catch (error) {
        logger.warn('an object could not be normalised; it is used unchanged', {
          object: `${object.kind} ${keyOfObject(object)}`,
          error,
        });
        failed.add(nameOf(kind, object));
        onView?.(kind, object, error);
        return object;
      }
    },
    originOf: (view) => ORIGINS.get(view),
  };
}

/** Objects of two kinds may have one key. */
const nameOf = (kind: Kind, object: KubeObject) => `${kindId(kind)} ${keyOfObject(object)}`;

/** The kinds whose objects enter the table of this one: itself, and its aliases. */
export function writtenKinds(kind: Kind): readonly Kind[] {
  return isDefined(kind) ? [kind, ...kind.aliases.map((alias) => alias.kind)] : [kind];
}

/**
 * Two objects of one name under different aliases cannot both be the one view. The oldest counts, so that a newcomer moves
 * nothing, and of several of one second the one with the lowest uid; the others wait until it is gone.
 */
export function holderOf(informers: readonly InformerView<KubeObject>[], key: ObjectKey): KubeObject | undefined {
  let holder: KubeObject | undefined;
  for (const informer of informers) {
    const object = informer.get(key);
    if (object !== undefined && (holder === undefined || isOlder(object, holder))) holder = object;
  }
  return holder;
}

function isOlder({ metadata: left }: KubeObject, { metadata: right }: KubeObject): boolean {
  const [before = '', after = ''] = [left.creationTimestamp, right.creationTimestamp];
  return before === after ? (left.uid ?? '') < (right.uid ?? '') : before < after;
}

/** The one of these objects that a view shows, and the kind under which it was written. */
export function originAmong(kind: Kind, view: KubeObject, objects: Iterable<KubeObject | undefined>): Origin {
  const { uid } = view.metadata;
  for (const object of objects)
    if (object !== undefined && object.metadata.uid === uid && isDefined(kind))
      return { kind: writtenAs(kind, object), object: object === view ? view : asIn(view, object) };
  return { kind, object: view };
}

/** Returns the view under the name by which it was written: the changes of a preview are newer than the cached object. */
function asIn(view: KubeObject, { apiVersion, kind }: KubeObject): KubeObject {
  return { ...view, apiVersion, kind };
}

function writtenAs(kind: DefinedKind, object: KubeObject): Kind {
  return (
    writtenKinds(kind).find(
      (candidate) => candidate.kind === object.kind && candidate.apiVersion === object.apiVersion,
    ) ?? kind
  );
}

function isDefined(kind: Kind): kind is DefinedKind {
  return 'viewOf' in kind;
}
