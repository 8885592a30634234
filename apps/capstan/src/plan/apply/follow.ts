// Applies the planned manifests, follows the operators, and compares the changes with the plan. The plan is a precondition: nothing is
// applied if the plan would differ by now, and each object must be the one that the plan was made with.
import { type Client, type Clock, isConflict, sleep } from '@capstan/kube';
import {
  type Operator,
  type PreviewResult,
  type PreviewWrite,
  type Runtime,
  unforeseenConditions,
} from '@capstan/reconcile';
import { CliErrors } from '../../cli/errors.ts';
import type { GivenChange } from '../would-become.ts';
import {
  changesOf,
  disturbanceOf,
  EMPTY,
  type Observation,
  type ObservedStatus,
  observe,
  observeStatuses,
  statusText,
} from './observed.ts';

export interface PlanOutcome {
  readonly asPredicted: boolean;
  /** A line for each event that was not predicted, and for each prediction that did not come true. */
  readonly differences: readonly string[];
  /** Differences of objects that the plan lists as not known. */
  readonly notKnown: readonly string[];
}

export interface Following {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The caches that the plan was made with. */
  readonly runtime: Runtime;
  readonly operators: readonly Operator[];
  readonly given: readonly GivenChange[];
  readonly predicted: PreviewResult;
  readonly timeoutMs: number;
  /** Makes the plan again. */
  again(): Promise<PreviewResult>;
}

const POLL_MS = 500;
/** All must have stayed as it is for so long. */
const REST_MS = 1500;

export async function applyAndFollow(following: Following): Promise<PlanOutcome> {
  const { client, clock, signal, runtime, operators, given, predicted, timeoutMs } = following;
  const changes = given.filter(({ verb }) => verb !== 'none');
  const unable = changes.find(({ make }) => make === undefined);
  if (unable !== undefined) throw CliErrors.CannotApply(unable.object, unable.tool);
  const expected = [...predicted.writes, ...predicted.later].filter(isObjectWrite);
  const named = new Set(expected.map(({ object }) => object));
  const before = await observe(client, operators, named, signal);
  const statuses = await observeStatuses(client, operators, signal);
  const unsettled = runtime.unsettled;
  await runtime.settle();
  const now = await following.again();
  if (textOf(now) !== textOf(predicted)) throw CliErrors.PlanChanged();
  for (const [done, change] of changes.entries()) {
    try {
      await change.make?.();
    } catch (error) {
      throw isConflict(error) ? CliErrors.ChangedSince(change.object, done) : error;
    }
  }
  const deadline = clock.now() + timeoutMs;
  let after = before;
  for (let restSince = clock.now(); ; ) {
    await sleep(clock, POLL_MS, signal);
    const next = await observe(client, operators, named, signal);
    await runtime.settle();
    if (changesOf(after, next).size > 0) restSince = clock.now();
    after = next;
    const isDone = missing(expected, changesOf(before, after)).length === 0 && runtime.unsettled <= unsettled;
    if ((isDone && clock.now() - restSince >= REST_MS) || clock.now() >= deadline) break;
  }
  const observations: Observations = {
    objects: [before, after],
    statuses: [statuses, await observeStatuses(client, operators, signal)],
  };
  return compare(predicted, given, observations, timeoutMs);
}

/** Statuses are compared apart, and finalizers are part of deletions. */
function isObjectWrite({ verb }: PreviewWrite): boolean {
  return verb !== 'status' && verb !== 'finalizer';
}

function missing(expected: readonly PreviewWrite[], changes: ReadonlyMap<string, string>): string[] {
  return [...new Set(expected.map(({ object }) => object))].filter((object) => !changes.has(object));
}

/** The observations before the change was made and after it. */
export interface Observations {
  readonly objects: readonly [before: Observation, after: Observation];
  readonly statuses: readonly [before: Statuses, after: Statuses];
}

type Statuses = ReadonlyMap<string, ObservedStatus>;
type Predicted = Pick<PreviewResult, 'writes' | 'later' | 'mayFollow' | 'undecided' | 'statuses'>;

interface Difference {
  readonly object: string;
  readonly text: string;
}

export function compare(
  predicted: Predicted,
  given: readonly Pick<GivenChange, 'object'>[],
  { objects, statuses }: Observations,
  timeoutMs: number,
): PlanOutcome {
  const [before, after] = objects;
  const expected = [...predicted.writes, ...predicted.later].filter(isObjectWrite);
  const changes = changesOf(before, after);
  const foretold = new Set([...expected, ...given].map(({ object }) => object));
  const differences: Difference[] = [
    ...[...changes]
      .filter(([object]) => !foretold.has(object))
      .map(([object, how]) => ({ object, text: `${object} was ${how}, and the plan does not show it` })),
    ...missing(expected, changes).map((object) => ({
      object,
      text: `${object} is in the plan, and nothing happened to it within ${timeoutMs / 1000} s`,
    })),
    ...[...changes.keys()].flatMap((object) => {
      const real = disturbanceOf(before.get(object), after.get(object));
      const shown = [
        ...new Set(expected.filter((write) => write.object === object).flatMap(({ disturbs }) => disturbs ?? [])),
      ];
      const isForetold = real === undefined ? shown.length === 0 : shown.includes(real);
      const pods = real ?? 'nothing happened to its pods';
      return isForetold
        ? []
        : [{ object, text: `${object}: ${pods}, and the plan shows ${shown.join(', ') || 'nothing of that'}` }];
    }),
    ...disordered(expected, changes, after),
    ...statusDifferences(predicted, statuses, timeoutMs),
  ];
  const { mayFollow, undecided } = predicted;
  const ownerOf = (object: string) => after.get(object)?.owner ?? before.get(object)?.owner ?? '';
  const isNotKnown = ({ object }: Difference) =>
    mayFollow.includes(object) || undecided.some((owner) => owner === object || owner === ownerOf(object));
  const found = differences.filter((difference) => !isNotKnown(difference)).map(({ text }) => text);
  const notKnown = differences.filter(isNotKnown).map(({ text }) => text);
  return { asPredicted: found.length === 0, differences: found, notKnown };
}

/**
 * Writes of one owner that came before another one of it which the plan shows at a lower level. The server notes writes to the second;
 * objects that are written more than once have no order.
 */
function disordered(
  expected: readonly PreviewWrite[],
  changes: ReadonlyMap<string, string>,
  after: Observation,
): Difference[] {
  const byObject = Map.groupBy(expected, ({ object }) => object);
  const once = expected.filter(({ object }) => byObject.get(object)?.length === 1 && changes.has(object));
  const timed = once.flatMap((write) => {
    const at = after.get(write.object)?.writtenAt;
    return at === undefined ? [] : [{ write, at }];
  });
  return timed.flatMap(({ write: first, at }) =>
    timed
      .filter(({ write, at: other }) => write.for === first.for && write.level > first.level && other < at)
      .map(({ write: { object } }) => ({
        object,
        text: `${object} was written before ${first.object}, and the plan shows it after that`,
      })),
  );
}

/** A status that others write to as well may change besides; objects that went have none. */
function statusDifferences(
  { writes, later, statuses }: Predicted,
  [before, after]: Observations['statuses'],
  timeoutMs: number,
): Difference[] {
  const shown = [...writes, ...later].filter(({ verb }) => verb === 'status');
  const changed = new Set(
    [...after].flatMap(([object, { content }]) => (content === (before.get(object)?.content ?? EMPTY) ? [] : [object])),
  );
  const needed = new Set(shown.filter(({ passing }) => passing !== true).map(({ object }) => object));
  // One that changes at once and is as before in the end may be read between the two.
  for (const [object, foreseen] of Object.entries(statuses))
    if (statusText(foreseen.at(-1)) === (before.get(object)?.content ?? EMPTY)) needed.delete(object);
  const known = new Set(shown.map(({ object }) => object));
  return [
    ...[...changed]
      .filter((object) => !known.has(object) && after.get(object)?.isOurs === true)
      .map((object) => ({ object, text: `the status of ${object} changed, and the plan does not show it` })),
    ...[...needed]
      .filter((object) => after.has(object) && !changed.has(object))
      .map((object) => ({
        object,
        text: `the status of ${object} is in the plan, and did not change within ${timeoutMs / 1000} s`,
      })),
    ...Object.entries(statuses).flatMap(([object, foreseen]) => {
      const found = after.get(object);
      if (found === undefined || !changed.has(object)) return [];
      return unforeseenConditions(foreseen, JSON.parse(found.content)).map((text) => ({
        object,
        text: `the status of ${object}: ${text}`,
      }));
    }),
  ];
}

/** The text of a plan without values: times in statuses move. */
function textOf({ writes, later, deliveries, unknowns }: PreviewResult): string {
  const shown = ({ verb, object, by, for: owner, paths, disturbs }: PreviewWrite) => [
    verb,
    object,
    by,
    owner,
    paths,
    disturbs,
  ];
  return JSON.stringify([
    writes.map(shown),
    later.map(shown),
    deliveries.map(({ by, key, change }) => [by, key, change]),
    unknowns,
  ]);
}
