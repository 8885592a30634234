import { median } from './percentiles.ts';

/** One figure, as `--json` prints it. */
export interface Result {
  readonly name: string;
  /** The value of the median round. */
  readonly value: number;
  readonly unit: string;
  /** In words; null where the figure is for information only. */
  readonly target: string | null;
  /** Whether the target is reached; true where there is none. */
  readonly ok: boolean;
  /** The same work done in another way, beside it. */
  readonly peer?: Peer;
  /** value / peer.value. */
  readonly ratio?: number;
  readonly rounds: number;
  /** The lowest and the highest round. */
  readonly spread: readonly [number, number];
  readonly note?: string;
  /** The cost that this figure is, and the size of the world at which it was measured. */
  readonly growth?: Growth;
  /** The values of one run over time, in the unit of the figure. */
  readonly curve?: readonly TimedValue[];
}

export interface Growth {
  /** The same text at all sizes. */
  readonly of: string;
  readonly size: number;
}

export interface TimedValue {
  readonly minute: number;
  readonly value: number;
}

export interface Peer {
  readonly name: string;
  readonly value: number;
}

export interface Figure {
  name: string;
  unit: string;
  /** One value a round. */
  rounds: readonly number[];
  below?: number;
  atMost?: number;
  atLeast?: number;
  /** Must hold in every round, not only in the median one. */
  exactly?: number;
  /** True judges each round by the target, and not only the median one; default false. */
  everyRound?: boolean;
  /** The ratio of the median to the peer's; not judged without a peer. */
  ratioAtLeast?: number;
  ratioAtMost?: number;
  peer?: { name: string; rounds: readonly number[] };
  note?: string;
  growth?: Growth;
  curve?: readonly TimedValue[];
}

/** Judges the median round of a figure, or each, by its target. */
export function result({
  name,
  unit,
  rounds,
  peer,
  note,
  growth,
  curve,
  everyRound = false,
  ...target
}: Figure): Result {
  const value = median(rounds);
  const peerValue = peer === undefined ? undefined : median(peer.rounds);
  return {
    name,
    value: rounded(value),
    unit,
    target: describeTarget(target, peer !== undefined),
    ok:
      (everyRound ? rounds : [value]).every((each) => isReached(each, rounds, target)) &&
      isRatioReached(value, peerValue, target),
    ...(peer !== undefined && peerValue !== undefined
      ? { peer: { name: peer.name, value: rounded(peerValue) }, ratio: rounded(value / peerValue) }
      : {}),
    rounds: rounds.length,
    spread: [rounded(Math.min(...rounds)), rounded(Math.max(...rounds))],
    ...(note === undefined ? {} : { note }),
    ...(growth === undefined ? {} : { growth }),
    ...(curve === undefined ? {} : { curve }),
  };
}

type Target = Pick<Figure, 'below' | 'atMost' | 'atLeast' | 'exactly' | 'ratioAtLeast' | 'ratioAtMost'>;

function isRatioReached(value: number, peer: number | undefined, { ratioAtLeast, ratioAtMost }: Target): boolean {
  if (peer === undefined) return true;
  return value / peer >= (ratioAtLeast ?? 0) && value / peer <= (ratioAtMost ?? Number.POSITIVE_INFINITY);
}

function isReached(value: number, rounds: readonly number[], { below, atMost, atLeast, exactly }: Target): boolean {
  return (
    (below === undefined || value < below) &&
    (atMost === undefined || value <= atMost) &&
    (atLeast === undefined || value >= atLeast) &&
    (exactly === undefined || rounds.every((round) => round === exactly))
  );
}

function describeTarget(target: Target, hasPeer: boolean): string | null {
  const { below, atMost, atLeast, exactly, ratioAtLeast, ratioAtMost } = target;
  if (hasPeer && ratioAtLeast !== undefined) return `>= ${ratioAtLeast} x peer`;
  if (hasPeer && ratioAtMost !== undefined) return `<= ${ratioAtMost} x peer`;
  if (below !== undefined) return `< ${below}`;
  if (atMost !== undefined) return `<= ${atMost}`;
  if (atLeast !== undefined) return `>= ${atLeast}`;
  return exactly === undefined ? null : `= ${exactly}`;
}

/** Four significant digits, and whole numbers whole: more would be noise. */
function rounded(value: number): number {
  return Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4));
}
