import type { Pod } from '@capstan/kube';
import { isTransportError } from '@capstan/kube';
import type { PodContext } from './pod-context.ts';

export interface StatusWriter {
  changed(): void;
  /** Resolves when all changes until now are written, or cannot be. */
  flush(): Promise<void>;
  /** Resolves when nothing is being written. */
  settled(): Promise<void>;
}

/** Changes that come together are written together. */
export function createStatusWriter(context: PodContext, make: Parameters<PodContext['setStatus']>[0]): StatusWriter {
  let isDirty = false;
  let writing: Promise<void> | undefined;
  async function write(): Promise<void> {
    while (isDirty && !context.isGone()) {
      isDirty = false;
      await context.setStatus(make).catch((error: unknown) => {
        if (!isTransportError(error)) context.logger.warn('the status of a pod could not be written', { error });
      });
    }
    writing = undefined;
  }
  const changed = () => {
    isDirty = true;
    writing ??= Promise.resolve().then(write);
  };
  return {
    changed,
    async flush() {
      changed();
      await writing;
    },
    async settled() {
      await writing;
    },
  };
}

/** Whether something changed that the status reports: the specification, or a condition of others that is a readiness gate. */
export function isStatusBehind({ metadata, spec, status }: Pod): boolean {
  return metadata.generation !== status?.observedGeneration || (spec?.readinessGates?.length ?? 0) > 0;
}
