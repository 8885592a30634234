// Objects that stand where a child would be created and that the caches do not hold, because they keep our own objects of a kind alone. The
// API writer asks the server before it creates a child; a preview asks for the same objects, between its rounds.
import { isApiError, type Kind, type KubeObject, keyOf, keyOfObject, type ObjectRef } from '@capstan/kube/cluster';
import { type ChildWrite, identity } from '../diff/index.ts';
import { inventoryOf } from '../inventory.ts';
import type { Binding } from '../runtime/writer/binding.ts';
import type { Overlay } from './overlay.ts';

export interface ForeignObjects {
  /** Shows the object that is in the way of a write to the diff; false where there is none, or where the server has not been asked yet. */
  isMet(write: ChildWrite, binding: Binding, overlay: Overlay): boolean;
  /** Asks for all objects that are not known yet; false when there is nothing to ask. */
  ask(): Promise<boolean>;
}

interface Wanted {
  readonly kind: Kind;
  readonly ref: ObjectRef;
  readonly binding: Binding;
}

const AT_A_TIME = 16;
/** For more objects of one kind, a list costs less. */
const MANY = 50;

/** Without options the server is not asked. */
export function createForeignObjects(options?: { readonly signal: AbortSignal }): ForeignObjects {
  const answers = new Map<string, KubeObject | undefined>();
  const asked = new Map<string, Wanted>();

  async function find(id: string, { kind, ref, binding }: Wanted, signal: AbortSignal): Promise<void> {
    const client = binding.worldFor(kind)?.targetFor(binding.operator.name).client;
    answers.set(id, await known(client?.find<KubeObject>(kind, ref, { signal })));
  }

  async function findAll(all: readonly [string, Wanted][], signal: AbortSignal): Promise<void> {
    const first = all[0]?.[1];
    const client = first?.binding.worldFor(first.kind)?.targetFor(first.binding.operator.name).client;
    if (first === undefined || client === undefined) return;
    const found = new Map<string, KubeObject>();
    const list = async () => {
      for await (const { items } of client.pages<KubeObject>(first.kind, { signal }))
        for (const object of items) found.set(keyOfObject(object), object);
      return undefined;
    };
    await known(list());
    for (const [id, { ref }] of all) answers.set(id, found.get(keyOf(ref)));
  }

  return {
    isMet(write, binding, overlay) {
      if (!isCreation(write)) return false;
      const { kind, ref } = write;
      const world = binding.worldFor(kind)?.name;
      if (world === undefined || overlay.isTouched(world, kind, keyOf(ref))) return false;
      const id = `${binding.operator.name} ${world} ${identity(kind, ref)}`;
      if (!answers.has(id)) asked.set(id, { kind, ref, binding });
      const object = answers.get(id);
      // An object with an inventory is ours, or one that another of our reconcilers shares in: the caches have it.
      if (object === undefined || inventoryOf(object) !== undefined) return false;
      overlay.meet(world, kind, object);
      overlay.fork.put(binding.foreign, identity(kind, ref), object);
      return true;
    },
    async ask() {
      const pending = options === undefined ? [] : [...asked];
      asked.clear();
      if (options === undefined || pending.length === 0) return false;
      const { signal } = options;
      const groups = Map.groupBy(
        pending,
        ([id, { kind, ref }]) => `${id.slice(0, -identity(kind, ref).length)}${kind.apiVersion} ${kind.kind}`,
      );
      for (const group of groups.values())
        if (group.length > MANY) await findAll(group, signal);
        else {
          const left = [...group];
          const work = async () => {
            for (let next = left.pop(); next !== undefined; next = left.pop()) await find(next[0], next[1], signal);
          };
          await Promise.all(Array.from({ length: AT_A_TIME }, work));
        }
      return pending.some(([id]) => answers.get(id) !== undefined);
    },
  };
}

/** An object that the user may not read, or whose kind is not there, is taken as absent. */
async function known<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (!isApiError(error) || error.code >= 500) throw error;
    return undefined;
  }
}

/** The writes before which the API writer asks for an object of the name. */
function isCreation(write: ChildWrite): boolean {
  switch (write.verb) {
    case 'apply':
      return !write.exists;
    case 'create':
      return write.unseen === undefined;
    case 'mint':
      return write.existing === undefined;
    default:
      return false;
  }
}
