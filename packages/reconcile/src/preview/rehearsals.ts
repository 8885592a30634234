// Fields of shared objects are never forced, and caches do not hold which other field managers set them: the server is asked by a dry run
// whether it would take such a write.
import { type Clock, isApiError } from '@capstan/kube/cluster';
import { rehearse, WriteConflict, writesId } from '../apply/index.ts';
import { describe, type Failure, type ShareWrite } from '../diff/index.ts';
import type { Binding } from '../runtime/writer/binding.ts';

export interface Rehearsals {
  /** Returns the report about the write; undefined where the server takes it, or has not been asked yet. */
  refusalOf(write: ShareWrite, binding: Binding): Failure | undefined;
  /** Asks the server about all that is not known yet; false when there is nothing to ask. */
  ask(): Promise<boolean>;
}

/** Without options the server is not asked. */
export function createRehearsals(options?: { readonly clock: Clock; readonly signal: AbortSignal }): Rehearsals {
  const answers = new Map<string, Failure | undefined>();
  const asked = new Map<string, { write: ShareWrite; binding: Binding }>();
  return {
    refusalOf(write, binding) {
      const id = `${binding.id} ${writesId([write])}`;
      if (!answers.has(id)) asked.set(id, { write, binding });
      return answers.get(id);
    },
    async ask() {
      const pending = options === undefined ? [] : [...asked];
      asked.clear();
      for (const [id, { write, binding }] of pending)
        answers.set(id, options && (await refusalBy(write, binding, options)));
      return pending.length > 0;
    },
  };
}

async function refusalBy(
  write: ShareWrite,
  { worldFor, operator, manager }: Binding,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Failure | undefined> {
  const target = worldFor(write.kind)?.targetFor(operator.name);
  if (target === undefined) return undefined;
  try {
    const performance = { target, manager, cause: undefined, clock, signal, mayWrite: () => true };
    await rehearse(write, { ...performance, meetForeign: () => {}, awaiting: (_name, work) => work });
    return undefined;
  } catch (error) {
    if (error instanceof WriteConflict) return { reason: 'Conflict', message: error.message };
    if (signal.aborted || !isApiError(error)) throw error;
    // Any other answer is about the request, or about the rights of the user, and not about the object.
    if (error.code !== 400 && error.code !== 422) return undefined;
    return { reason: 'WriteRefused', message: `${describe(write.kind, write.ref)}: ${error.message}` };
  }
}
