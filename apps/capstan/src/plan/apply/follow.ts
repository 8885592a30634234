// Applies what was planned, follows what the operators do, and compares it with the plan. The plan is a precondition: nothing is
// applied when it would be another one by now, and each object must be the one that the plan was made with.
import { type Client, type Clock, isConflict, sleep } from '@capstan/kube';
import type { Operator, PreviewResult, PreviewWrite, Runtime } from '@capstan/reconcile';
import { CliErrors } from '../../cli/errors.ts';
import type { GivenChange } from '../would-become.ts';
import { changesOf, disturbanceOf, type Observation, observe } from './observed.ts';

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
  return compare(predicted, given, before, after, timeoutMs);
}

/** Statuses follow from the rest, and finalizers are part of deletions. */
function isObjectWrite({ verb }: PreviewWrite): boolean {
  return verb !== 'status' && verb !== 'finalizer';
}

function missing(expected: readonly PreviewWrite[], changes: ReadonlyMap<string, string>): string[] {
  return [...new Set(expected.map(({ object }) => object))].filter((object) => !changes.has(object));
}

export function compare(
  { writes, later, mayFollow, undecided }: Pick<PreviewResult, 'writes' | 'later' | 'mayFollow' | 'undecided'>,
  given: readonly Pick<GivenChange, 'object'>[],
  before: Observation,
  after: Observation,
  timeoutMs: number,
): PlanOutcome {
  const expected = [...writes, ...later].filter(isObjectWrite);
  const changes = changesOf(before, after);
  const foretold = new Set([...expected, ...given].map(({ object }) => object));
  const differences = [
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
  ];
  const ownerOf = (object: string) => after.get(object)?.owner ?? before.get(object)?.owner ?? '';
  const isNotKnown = ({ object }: { object: string }) =>
    mayFollow.includes(object) || undecided.some((owner) => owner === object || owner === ownerOf(object));
  const found = differences.filter((difference) => !isNotKnown(difference)).map(({ text }) => text);
  const notKnown = differences.filter(isNotKnown).map(({ text }) => text);
  return { asPredicted: found.length === 0, differences: found, notKnown };
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
