import { untilAborted } from '@capstan/kube';
import { type SourceDefinition, source } from '@capstan/reconcile';

/** One value of this process that changes while it runs, which reconcilers and derivations read as a source. */
export interface Cell<T> {
  readonly source: SourceDefinition<T>;
  get(): T;
  set(value: T): void;
}

/** The key of its only row. */
export const CELL = 'value';

export function createCell<T>(name: string, initial: T): Cell<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const listener of listeners) listener();
    },
    source: source<T>({
      name,
      async open({ table, signal }) {
        const put = () => table.put(CELL, value);
        put();
        table.complete();
        listeners.add(put);
        await untilAborted(signal);
        listeners.delete(put);
      },
    }),
  };
}
