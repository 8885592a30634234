import { type Clock, sleep } from '@capstan/kube';

/** Shows the phase of a start: a line for every phase that takes longer than a second, and one more every two seconds. */
export interface Progress {
  /** `title` starts with a verb: "Installing the definitions". `detail` is how far it is, where that is known. */
  phase<T>(title: string, work: Promise<T>, detail?: () => string | undefined): Promise<T>;
}

const SHOWN_AFTER_MS = 1000;
/** The longest silence. It is shorter than two seconds, because a busy machine writes late. */
const REPEATED_AFTER_MS = 1200;

export function createProgress(clock: Clock, write: (line: string) => void): Progress {
  return {
    async phase(title, work, detail) {
      const over = new AbortController();
      const shown = showUntil(over.signal, clock, write, title, detail).catch(() => undefined);
      try {
        return await work;
      } finally {
        over.abort();
        await shown;
      }
    },
  };
}

async function showUntil(
  signal: AbortSignal,
  clock: Clock,
  write: (line: string) => void,
  title: string,
  detail: () => string | undefined = () => undefined,
): Promise<never> {
  const began = clock.now();
  await sleep(clock, SHOWN_AFTER_MS, signal);
  write(`${title} ...\n`);
  for (;;) {
    await sleep(clock, REPEATED_AFTER_MS, signal);
    const seconds = `${Math.round((clock.now() - began) / 1000)} s`;
    write(`${title} ... (${[detail(), seconds].filter((part) => part !== undefined).join(', ')})\n`);
  }
}

export const noProgress: Progress = { phase: (_title, work) => work };
