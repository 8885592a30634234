// Compares how both ends of a pair resolved it. Both compute the same from the same synced objects, unless one of them is cut off from
// the broker or has another version. Each gateway therefore publishes its outcome for each other cluster on its Endpoint, and
// compares. A driver without encryption is used only when the other end has resolved one too.
import { driverNameOf, isEncrypted } from '../policy/driver-names.ts';
import type { PublishedOutcome } from '../sync/published-outcomes.ts';
import type { Decision } from './decision.ts';

/** The outcome of a pair where nothing may connect it. */
const NOT_CONNECTED = 'not connected';

/** A driver with its options, as `vxlan(vxlanID=100)`; equal for equal decisions. */
export function outcomeOf({ driver, options }: Pick<Decision, 'driver' | 'options'>): string {
  if (driver === undefined) return NOT_CONNECTED;
  const shown = Object.entries(options)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`);
  return shown.length === 0 ? driver : `${driver}(${shown.join(',')})`;
}

export interface Disagreement {
  /** The pair must not use the outcome of this end: the cable that is up stays, and none comes up. */
  readonly holds: boolean;
  /** The other end asks for encryption: a cable without it does not stay either. */
  readonly isRefused: boolean;
  readonly message: string;
}

/** Compares the decision of this end with the published outcome of the other end. Returns undefined if there is nothing to report. */
export function disagreementOf(
  decision: Decision,
  { local, remote }: { readonly local: string; readonly remote: string },
  published: PublishedOutcome,
): Disagreement | undefined {
  const { driver } = decision;
  if (published.state === 'unpublished' || driver === undefined) return undefined;
  const isOpen = !isEncrypted(driver);
  if (published.state === 'unresolved')
    return isOpen
      ? { holds: true, isRefused: false, message: `waiting until cluster "${remote}" has resolved this pair too` }
      : undefined;
  const [own, theirs] = [outcomeOf(decision), published.outcome];
  if (own === theirs) return undefined;
  const ends = [
    [local, own],
    [remote, theirs],
  ].toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
  const values = ends.map(([cluster, outcome]) => `cluster "${cluster}" resolves ${outcome}`).join(', ');
  const isWeaker = isOpen && !isOpenOutcome(theirs);
  const effect = isWeaker
    ? 'the pair keeps a cable with encryption if it has one, and uses none without, until both agree'
    : 'the pair is connected when both agree';
  return {
    holds: isWeaker,
    isRefused: isWeaker && theirs !== NOT_CONNECTED,
    message: `${values}; ${effect}: check that both clusters reach the broker and run the same version`,
  };
}

function isOpenOutcome(outcome: string): boolean {
  const driver = driverNameOf(outcome.replace(/\(.*$/s, ''));
  // An outcome that this version does not know may be one with encryption.
  return driver !== undefined && !isEncrypted(driver);
}
