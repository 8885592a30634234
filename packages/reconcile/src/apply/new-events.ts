// Decides which events are reported, and when: those of a plan along with a write, so that a restart on a settled object repeats none of
// them; alerts as soon as they are known. Each is reported once, as long as the plan contains it.
import type { WriteSet } from '../diff/index.ts';
import type { EventInput } from '../plan/index.ts';

export interface Reported {
  readonly events: ReadonlySet<string>;
  readonly alerts: ReadonlySet<string>;
}

export const NOTHING_REPORTED: Reported = { events: new Set(), alerts: new Set() };

/** Reports new events, and returns the ones that count as reported from now on. */
export function reportNews(
  { events, alerts }: WriteSet,
  reported: Reported,
  hasWritten: boolean,
  notify: (event: EventInput) => void,
): Reported {
  for (const alert of alerts) if (!reported.alerts.has(idOf(alert))) notify(alert);
  if (hasWritten) for (const event of events) if (!reported.events.has(idOf(event))) notify(event);
  // Most objects never have anything to report: they share one record.
  if (events.length === 0 && alerts.length === 0) return NOTHING_REPORTED;
  const detail = new Set(events.map(idOf));
  return {
    // Events that have not been reported yet wait for a write. An event that a plan no longer contains may be reported again when it
    // returns.
    events: hasWritten ? detail : reported.events.intersection(detail),
    alerts: new Set(alerts.map(idOf)),
  };
}

function idOf({ type, reason, note, id }: EventInput): string {
  return JSON.stringify([type, reason, note, id]);
}
