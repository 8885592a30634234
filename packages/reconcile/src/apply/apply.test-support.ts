// The shared parts of the tests of writes: a cluster, and a target that records the objects shown to the caches. Only *.test.ts import it.
import { type Client, type Kind, type KubeObject, keyOfObject } from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock, type VirtualClock } from '@capstan/testing';
import { inventoryId } from '../inventory.ts';
import type { Ownership } from '../ownership/index.ts';
import type { Target } from './sending.ts';

export const MANAGER = 'capstan.test.web';

export interface Place {
  readonly client: Client;
  readonly clock: VirtualClock;
  readonly target: Target;
  /** The objects that were shown to the caches, in order: `+ ConfigMap default/a` or `- ConfigMap default/a uid`. */
  readonly shown: string[];
  /** The newest version of everything that was shown. */
  readonly seen: Map<string, KubeObject>;
}

/** Runs a check on a cluster of its own. */
export async function onCluster(check: (place: Place) => Promise<void>): Promise<void> {
  const clock = createVirtualClock();
  const cluster = await createTestCluster({ clock, random: createRandom(1) });
  const shown: string[] = [];
  const seen = new Map<string, KubeObject>();
  const nameOf = (kind: Kind, object: KubeObject) => `${kind.kind} ${keyOfObject(object)}`;
  const target: Target = {
    client: cluster.client,
    observeWrite(kind, object) {
      shown.push(`+ ${nameOf(kind, object)}`);
      seen.set(nameOf(kind, object), object);
    },
    observeDelete(kind, object) {
      shown.push(`- ${nameOf(kind, object)} ${object.metadata.uid}`);
      seen.delete(nameOf(kind, object));
    },
  };
  try {
    await check({ client: cluster.client, clock, target, shown, seen });
  } finally {
    await cluster.close();
  }
}

/** Whose writes they are. */
export function ownershipOf(kind: Kind, object: KubeObject): Ownership {
  const owner = { world: '', reconciler: 'test.web', kind, key: keyOfObject(object) };
  return { inventory: inventoryId(owner), owner, object };
}

/** A client in which one call fails, once or always. */
export function failing(
  client: Client,
  method: keyof Client,
  error: () => Error,
  times = Number.POSITIVE_INFINITY,
): Client {
  let left = times;
  return new Proxy(client, {
    get(real, name, receiver) {
      if (name !== method || left <= 0) return Reflect.get(real, name, receiver) as unknown;
      left--;
      return () => Promise.reject(error());
    },
  });
}
