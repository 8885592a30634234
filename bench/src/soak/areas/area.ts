import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, isNotFound, type Kind, type KubeObject, type ObjectRef } from '@capstan/kube';
import type { SeededRandom } from '@capstan/testing';

/** A part of the world under churn: it edits objects, remembers the desired result, and checks it. */
export interface Area {
  readonly name: string;
  /** Creates the objects that the edits need. */
  prepare?(): Promise<void>;
  /** Makes one random edit. */
  edit?(random: SeededRandom): Promise<void>;
  /** Returns a sentence for each result that is not there yet. It must be empty when everything has settled. */
  unsettled(): Promise<readonly string[]>;
  /** Returns a sentence for each rule that never may be broken, also under faults. */
  broken?(): Promise<readonly string[]>;
}

const FIELD_MANAGER = 'soak';
const REMOVAL_LIMIT_MS = 120_000;

/** The metadata of an object that is applied. */
export type Metadata = ObjectRef & { readonly labels?: Readonly<Record<string, string>> };

function objectOf(kind: Kind, ref: Metadata, parts: object): KubeObject {
  return { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { ...ref }, ...parts };
}

export async function put(client: Client, kind: Kind, ref: Metadata, parts: object): Promise<void> {
  const deadline = performance.now() + REMOVAL_LIMIT_MS;
  for (;;) {
    const applied = await client.apply(kind, objectOf(kind, ref, parts), { fieldManager: FIELD_MANAGER, force: true });
    // An object of the same name that is being deleted takes the edit with it.
    if (applied.metadata.deletionTimestamp === undefined) return;
    if (performance.now() > deadline) throw new Error(`${kind.kind} ${ref.name} is still being deleted`);
    await sleep(200);
  }
}

export async function remove(client: Client, kind: Kind, ref: ObjectRef): Promise<void> {
  try {
    await client.delete(kind, ref);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** An object of any kind, as checks read it. */
export interface Seen extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>> & {
    readonly conditions?: readonly {
      type: string;
      status: string;
      reason?: string;
      message?: string;
      observedGeneration?: number;
    }[];
  };
}

/** Returns a sentence if a condition of the object is not the expected one for its newest content. */
export function conditionProblem(
  object: Seen | undefined,
  id: string,
  type: string,
  status: string,
): readonly string[] {
  if (object === undefined) return [`${id} does not exist`];
  const found = object.status?.conditions?.find((each) => each.type === type);
  const isNew = found?.observedGeneration === undefined || found.observedGeneration === object.metadata.generation;
  if (found?.status === status && isNew) return [];
  const shown = found === undefined ? 'missing' : `${found.status} (${found.reason}: ${found.message})`;
  return [`${id}: ${type} is ${shown}${isNew ? '' : ' and old'} (${status} expected)`];
}

/** Objects with numbered names, of which some exist at a time. */
export function createPool(size: number) {
  const present = new Map<number, unknown>();
  return {
    present,
    /** Picks an absent number half of the time, and a present one otherwise. */
    pick(random: SeededRandom): { readonly index: number; readonly isPresent: boolean } {
      const index = random.integer(0, size - 1);
      return { index, isPresent: present.has(index) };
    },
    absent: () => Array.from({ length: size }, (_, index) => index).filter((index) => !present.has(index)),
  };
}
