// Which events are reported, and when: those of a plan along with a write, so that a restart on a settled object repeats none
// of them; alerts as soon as they are known. Each once, as long as it stays said.
import type { WriteSet } from '../diff/index.ts';
import type { EventInput } from '../plan/index.ts';

export interface Reported {
  readonly events: ReadonlySet<string>;
  readonly alerts: ReadonlySet<string>;
}

export const NOTHING_REPORTED: Reported = { events: new Set(), alerts: new Set() };

/** Reports what is new, and returns what counts as reported from now on. */
export function reportNews(
  { events, alerts }: WriteSet,
  reported: Reported,
  hasWritten: boolean,
  notify: (event: EventInput) => void,
): Reported {
  for (const alert of alerts) if (!reported.alerts.has(idOf(alert))) notify(alert);
  if (hasWritten) for (const event of events) if (!reported.events.has(idOf(event))) notify(event);
  // Of most objects there is nothing to report, ever: they share one record.
  if (events.length === 0 && alerts.length === 0) return NOTHING_REPORTED;
  const detail = new Set(events.map(idOf));
  return {
    // What has not been reported yet waits for a write; what a plan no longer says may be reported again when it says so again.
    events: hasWritten ? detail : reported.events.intersection(detail),
    alerts: new Set(alerts.map(idOf)),
  };
}

function idOf({ type, reason, note, id }: EventInput): string {
  return JSON.stringify([type, reason, note, id]);
}
