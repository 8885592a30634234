// Which faults, how often, how long. Probabilities are per occasion: per request, per opening of a watch, per batch of a
// watch. At most one fault befalls one occasion.
import type { SeededRandom } from '../random.ts';

/** The faults of a request. */
export type RequestFault =
  /** It never reached the server; the caller sees a refused connection (surely not sent) or a reset (perhaps sent). */
  | 'refused'
  /** It happened; the answer is a reset connection or a 504. */
  | 'lost'
  /** No answer until the request's time-out; whether it happened is open. */
  | 'hung'
  /** 409 Conflict, only for PUT, PATCH and DELETE; it did not happen. */
  | 'conflict'
  /** 429 with Retry-After; it did not happen. */
  | 'throttled'
  /** 500 or 503; it did not happen. */
  | 'unavailable'
  /** 410 Expired, only for a list that continues; its token is too old. */
  | 'expired'
  /** Answered late: either the request or the answer was held up. */
  | 'slow';

/** The faults of opening a watch. */
export type OpeningFault = 'refused' | 'hung' | 'throttled' | 'unavailable' | 'expired' | 'slow';

/** The faults of a batch of events. Within one stream the order of events never changes: no server does that. */
export type BatchFault =
  /** The connection breaks within or right before the batch. */
  | 'cut'
  /** The server ends the stream properly within or right before the batch. */
  | 'ended'
  /** An ERROR event with status 410 within or right before the batch; then the stream ends. */
  | 'expired'
  /** The batch is delivered twice. */
  | 'duplicated'
  /** The batch, and with it the rest of its stream, comes later. */
  | 'delayed'
  /** The batch waits until another stream has delivered: kinds overtake each other. */
  | 'overtaken'
  /** From here on neither events nor an end; the connection looks open for ever. */
  | 'silent';

export type Rates<Fault extends string> = Partial<Record<Fault, number>>;

export interface FaultSchedule {
  /** Probabilities per request. A fault without a probability does not happen. */
  requests?: Rates<RequestFault>;
  /** Probabilities per opening of a watch. */
  openings?: Rates<OpeningFault>;
  /** Probabilities per batch. */
  batches?: Rates<BatchFault>;
  /** The delay of slow requests, delayed and overtaken batches, in milliseconds; default 1 to 20,000. */
  delayMs?: readonly [min: number, max: number];
  /** The pause of throttled answers, in seconds; default 1 to 5. */
  retryAfterSeconds?: readonly [min: number, max: number];
}

export const REQUEST_FAULTS: readonly RequestFault[] = [
  'refused',
  'lost',
  'hung',
  'conflict',
  'throttled',
  'unavailable',
  'expired',
  'slow',
];
export const OPENING_FAULTS: readonly OpeningFault[] = [
  'refused',
  'hung',
  'throttled',
  'unavailable',
  'expired',
  'slow',
];
export const BATCH_FAULTS: readonly BatchFault[] = [
  'cut',
  'ended',
  'expired',
  'duplicated',
  'delayed',
  'overtaken',
  'silent',
];

/**
 * A schedule for a seed: some faults, chosen at random, each with a rate of its own. Leaving most of them out most of the time finds more
 * than mixing all of them always, because one frequent fault hides the effects of another.
 */
export function randomSchedule(random: SeededRandom): FaultSchedule {
  const rates = <Fault extends string>(faults: readonly Fault[]): Rates<Fault> => {
    const chosen: Rates<Fault> = {};
    for (const fault of faults) if (random.chance(0.4)) chosen[fault] = random.pick([0.02, 0.05, 0.1, 0.2]);
    return chosen;
  };
  return {
    requests: rates(REQUEST_FAULTS),
    openings: rates(OPENING_FAULTS),
    batches: rates(BATCH_FAULTS),
    delayMs: random.pick([[1, 50] as const, [1, 2000] as const, [100, 20_000] as const]),
  };
}

/** The fault for one occasion out of those that apply to it, or none. */
export function drawFault<Fault extends string>(
  random: SeededRandom,
  rates: Rates<Fault> | undefined,
  applicable: readonly Fault[],
): Fault | undefined {
  // One number an occasion, whatever the rates: two schedules with one seed stay comparable.
  let rest = random();
  for (const fault of applicable) {
    rest -= rates?.[fault] ?? 0;
    if (rest < 0) return fault;
  }
  return undefined;
}
