// Runs a history again: the same inputs enter the same waves at the same times, and the results are compared with those that were
// recorded.
import type { Logger } from '@capstan/kube/cluster';
import type { Operator } from '../operator.ts';
import type { HistoryLine } from './history.ts';
import { isAfter } from './play-history.ts';
import { type Changed, createSession, type History, idName, type Replay } from './replay-session.ts';

/** A result that differs from the one that was recorded. */
export interface ReplayDifference {
  readonly wave: number;
  readonly at: number;
  /** The function, and the object or key that it computed. */
  readonly name: string;
  readonly key: string;
  /** `changed`: another result; `only recorded` or `only replayed`: the other one has none. */
  readonly how: 'changed' | 'only recorded' | 'only replayed';
  /** The result of the replay. */
  readonly replayed: unknown;
  /** Reads of the function. */
  readonly reads: readonly string[];
  /** Those of them that changed since the last result that was equal. None: the result depends on something that is no read. */
  readonly moved: readonly string[];
}

export interface ReplayOptions {
  readonly operators: readonly Operator[];
  /** Stops before the first wave with a higher number, or a later time. */
  readonly until?: { readonly wave?: number; readonly at?: number };
  /** So many differences are kept; default 20. */
  readonly differences?: number;
  /** Called after each wave. */
  readonly onWave?: (wave: { readonly wave: number; readonly at: number; readonly replay: Replay }) => void;
  /** Called with each result that changed, for a comparison of two versions. */
  readonly onResult?: (result: {
    wave: number;
    at: number;
    name: string;
    key: string;
    digest: string;
    value: unknown;
  }) => void;
  readonly logger?: Logger;
  /** Whether results are compared; default true. */
  readonly compares?: boolean;
  readonly checkPurity?: boolean;
}

export interface ReplayReport {
  readonly waves: number;
  /** The first and the last wave. */
  readonly from: { readonly wave: number; readonly at: number };
  readonly to: { readonly wave: number; readonly at: number };
  /** How many results were compared, and how many differ. */
  readonly compared: number;
  readonly differing: number;
  /** Functions that were not run, because they read secret data that the recording does not have. */
  readonly notRun: number;
  readonly differences: readonly ReplayDifference[];
  /** Inputs that concern kinds or tables which these operators do not have. */
  readonly unknownTables: readonly string[];
  /** Functions whose previous results the snapshot at the beginning could not hold: results that follow from them may differ. */
  readonly unrestored: readonly string[];
}

/** Replays a history up to its end or to a moment. */
export function replayHistory(history: History, options: ReplayOptions): ReplayReport & { readonly replay: Replay } {
  const { lines, header } = history;
  const { until, onWave, onResult } = options;
  const session = createSession(history, options);
  const expected = options.compares === false ? undefined : expectationsOf(lines);
  const differences: ReplayDifference[] = [];
  let compared = 0;
  let differing = 0;
  let waves = 0;
  let first: { wave: number; at: number } | undefined;
  /** The last wave in which the result of a node was equal. */
  const equalAt = new Map<string, number>();
  /** The last recorded digest of each node. */
  const known = new Map<string, string>();

  function compare(wave: number, changed: ReadonlyMap<string, Changed>): void {
    const wanted = expected?.byWave.get(wave);
    const differ = (id: string, node: Changed | undefined, how: ReplayDifference['how']) => {
      differing++;
      if (differences.length >= (options.differences ?? DIFFERENCES)) return;
      const [name = '', key = ''] = id.split('\u0000');
      differences.push({
        wave,
        at: session.at,
        name,
        key,
        how,
        replayed: node?.value,
        reads: node?.reads() ?? [],
        moved: node?.movedSince(equalAt.get(id) ?? -1) ?? [],
      });
    };
    for (const [id, digest] of wanted ?? []) {
      compared++;
      known.set(id, digest);
      const node = changed.get(id) ?? session.current(id);
      const found = node?.digest() ?? '';
      if (found === digest) {
        equalAt.set(id, wave);
        continue;
      }
      differ(id, node, digest === '' ? 'only replayed' : found === '' ? 'only recorded' : 'changed');
    }
    // The recording up to here is complete: other changes happen in the replay alone.
    if (expected === undefined || wave > expected.last) return;
    for (const [id, node] of changed)
      if (wanted?.has(id) !== true && (known.get(id) ?? '') !== node.digest()) {
        known.set(id, node.digest());
        differ(id, node, 'only replayed');
      }
  }

  for (const line of lines) {
    if (until !== undefined && isAfter(line, until)) break;
    const changed = session.take(line);
    if (changed === undefined) continue;
    waves++;
    first ??= { wave: session.wave, at: session.at };
    if (expected !== undefined) compare(session.wave, changed);
    if (onResult !== undefined)
      for (const [id, node] of changed) {
        const [name = '', key = ''] = id.split('\u0000');
        onResult({ wave: session.wave, at: session.at, name, key, digest: node.digest(), value: node.value });
      }
    onWave?.({ wave: session.wave, at: session.at, replay: session });
  }
  const last = { wave: session.wave, at: session.at };
  return {
    waves,
    from: first ?? { wave: 0, at: Date.parse(header.started) },
    to: last,
    compared,
    differing,
    notRun: session.notRun,
    differences,
    unknownTables: session.unknownTables(),
    unrestored: session.unrestored(),
    replay: session,
  };
}

const DIFFERENCES = 20;

/** Digests by wave and node. */
function expectationsOf(lines: readonly HistoryLine[]) {
  const byWave = new Map<number, Map<string, string>>();
  const names = new Map<number, string>();
  let last = -1;
  for (const line of lines) {
    if ('derivation' in line) names.set(line.derivation, idName(line.owner, line.name));
    if (!('digests' in line)) continue;
    const of = byWave.get(line.of) ?? new Map<string, string>();
    byWave.set(line.of, of);
    for (const [derivation, key, digest] of line.digests) of.set(`${names.get(derivation)}\u0000${key}`, digest);
    last = Math.max(last, line.of);
  }
  return { byWave, last };
}
