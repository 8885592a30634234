// Aliases are one view: objects of several kinds, or in several forms, enter one table in one normal form. The object that
// a view was made of is remembered, because statuses, finalizers and owner references belong to that one.
import {
  type DefinedKind,
  type InformerView,
  type Kind,
  type KubeObject,
  keyOfObject,
  type Logger,
  type ObjectKey,
} from '@capstan/kube';

export interface Origin {
  /** The kind under which the object was written. */
  readonly kind: Kind;
  readonly object: KubeObject;
}

export interface Views {
  /** The normal form of an object, remembered with its origin. */
  viewOf(kind: Kind, object: KubeObject): KubeObject;
  /** Where a view came from; the object itself when it is no view. */
  originOf(kind: Kind, view: KubeObject): Origin;
}

export function createViews(logger: Logger): Views {
  const origins = new WeakMap<KubeObject, Origin>();
  return {
    viewOf(kind, object) {
      if (!isDefined(kind)) return object;
      try {
        const view = kind.viewOf(object);
        if (view !== object) origins.set(view, { kind: writtenAs(kind, object), object });
        return view;
      } catch (error) {
        logger.warn('an object could not be normalised; it is taken as it is', {
          object: `${object.kind} ${keyOfObject(object)}`,
          error,
        });
        return object;
      }
    },
    originOf: (kind, view) => origins.get(view) ?? { kind, object: view },
  };
}

/** The kinds whose objects enter the table of this one: itself, and its aliases. */
export function writtenKinds(kind: Kind): readonly Kind[] {
  return isDefined(kind) ? [kind, ...kind.aliases.map((alias) => alias.kind)] : [kind];
}

/**
 * Two objects of one name under different aliases cannot both be the one view. The first in the order of the kinds counts,
 * the others wait until it is gone.
 */
export function holderOf(informers: readonly InformerView<KubeObject>[], key: ObjectKey): KubeObject | undefined {
  for (const informer of informers) {
    const object = informer.get(key);
    if (object !== undefined) return object;
  }
  return undefined;
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
