// Keys that cannot be planned yet, and since when. A wait that lasts is shown on the resource; short ones (caches that fill, a fact
// that is fetched) leave no trace.
import { type Clock, formatTime, type Timer } from '@capstan/kube/cluster';
import { conditionsOf, type StatusInput } from '../../plan/index.ts';

export interface WaitingKeys {
  begin(key: string): void;
  end(key: string): void;
  /** Since when a key waits, once that is long enough to be shown. */
  since(key: string): number | undefined;
  /** Keys whose wait is to be shown. */
  overdue(): readonly string[];
}

/** Caches fill, and most facts are fetched, in less. */
const SHOWN_AFTER_MS = 15_000;
const NAMES = 3;

export function createWaiting(clock: Clock, onOverdue: (keys: readonly string[]) => void): WaitingKeys {
  const began = new Map<string, number>();
  let timer: Timer | undefined;

  const overdue = () => [...began].filter(([, at]) => clock.now() - at >= SHOWN_AFTER_MS).map(([key]) => key);

  /** One timer for all keys: thousands wait while caches fill. */
  function arm(): void {
    timer = undefined;
    const due = overdue();
    if (due.length > 0) onOverdue(due);
    const next = [...began.values()].find((at) => clock.now() - at < SHOWN_AFTER_MS);
    if (next !== undefined) timer = clock.after(SHOWN_AFTER_MS - (clock.now() - next), arm);
  }

  return {
    begin(key) {
      if (began.has(key)) return;
      began.set(key, clock.now());
      timer ??= clock.after(SHOWN_AFTER_MS, arm);
    },
    end(key) {
      if (!began.delete(key) || began.size > 0) return;
      timer?.cancel();
      timer = undefined;
    },
    since(key) {
      const at = began.get(key);
      return at === undefined || clock.now() - at < SHOWN_AFTER_MS ? undefined : at;
    },
    overdue,
  };
}

/** Describes the unknowns that a resource waits for, and since when. After a restart the time in the status stays. */
export function waitingText(names: readonly string[], since: number, status: StatusInput | undefined): string {
  const more = names.length > NAMES ? ` and ${names.length - NAMES} more` : '';
  const text = `waiting for ${names.slice(0, NAMES).join(', ')}${more} since `;
  const shown = conditionsOf(status).find(({ type }) => type === 'Waiting')?.message;
  const earlier = shown?.startsWith(text) ? shown.slice(text.length).split(' ')[0] : undefined;
  return `${text}${earlier ?? formatTime(since)}`;
}
