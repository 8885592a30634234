import { type Clock, sleep } from '@capstan/kube';

/** Shows what a start is waiting for: a line for every phase that takes longer than a second. */
export interface Progress {
  /** `title` starts with a verb: "Installing the definitions". */
  phase<T>(title: string, work: Promise<T>): Promise<T>;
}

const SHOWN_AFTER_MS = 1000;

export function createProgress(clock: Clock, write: (line: string) => void): Progress {
  return {
    async phase(title, work) {
      const over = new AbortController();
      const shown = sleep(clock, SHOWN_AFTER_MS, over.signal).then(
        () => write(`${title} ...\n`),
        () => undefined,
      );
      try {
        return await work;
      } finally {
        over.abort();
        await shown;
      }
    },
  };
}

export const noProgress: Progress = { phase: (_title, work) => work };
