// The objects that the plans of an object write, and the newest of these writes with its cause.
import { keyOfObject, kindId } from '@capstan/kube';
import {
  CAUSE_ANNOTATION,
  type CauseRecord,
  formatObjectId,
  type ObjectId,
  OWNER_ANNOTATION,
  parseCause,
  type Runtime,
} from '@capstan/reconcile';

export interface WrittenObjects {
  readonly objects: readonly ObjectId[];
  /** The newest write of one of them. */
  readonly last?: { readonly id: string; readonly cause: CauseRecord };
}

/** The objects of its own cluster; those that a reconciler writes into another cluster carry the same annotation there. */
export function writtenObjects(runtime: Runtime, owner: ObjectId): WrittenObjects {
  const suffix = ` ${owner.kind} ${owner.key}`;
  // A kind may be cached twice: all of it, and our own children.
  const objects = new Map<string, ObjectId>();
  let last: WrittenObjects['last'];
  for (const world of runtime.worlds.values())
    for (const { kind, object } of world.children()) {
      const { annotations = {} } = object.metadata;
      if (annotations[OWNER_ANNOTATION]?.endsWith(suffix) !== true) continue;
      const id = { world: world.name, kind: kindId(kind), key: keyOfObject(object) };
      objects.set(formatObjectId(id), id);
      const cause = parseCause(annotations[CAUSE_ANNOTATION]);
      if (cause !== undefined && (last === undefined || cause.at > last.cause.at))
        last = { id: formatObjectId(id), cause };
    }
  return { objects: [...objects.values()], ...(last && { last }) };
}

/** The object whose plan writes another one; undefined for an object that Capstan does not write. */
export function writerOf(runtime: Runtime, { world, kind, key }: ObjectId): ObjectId | undefined {
  const found = runtime.worlds
    .get(world)
    ?.children()
    .find((one) => kindId(one.kind) === kind && keyOfObject(one.object) === key);
  const [, ownerKind, ownerKey] = found?.object.metadata.annotations?.[OWNER_ANNOTATION]?.split(' ') ?? [];
  return ownerKind === undefined || ownerKey === undefined ? undefined : { world: '', kind: ownerKind, key: ownerKey };
}
