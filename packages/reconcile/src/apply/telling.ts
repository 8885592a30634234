// Which events are told, and when: those of a plan along with a write, so that a restart on a settled object repeats none
// of them; alerts as soon as they are known. Each once, as long as it stays said.
import type { WriteSet } from '../diff/index.ts';
import type { EventInput } from '../plan/index.ts';

export interface Told {
  readonly events: ReadonlySet<string>;
  readonly alerts: ReadonlySet<string>;
}

export const NOTHING_TOLD: Told = { events: new Set(), alerts: new Set() };

/** Tells what is new, and gives what counts as told from now on. */
export function tellNews(
  { events, alerts }: WriteSet,
  told: Told,
  hasWritten: boolean,
  tell: (event: EventInput) => void,
): Told {
  for (const alert of alerts) if (!told.alerts.has(idOf(alert))) tell(alert);
  if (hasWritten) for (const event of events) if (!told.events.has(idOf(event))) tell(event);
  const said = new Set(events.map(idOf));
  return {
    // What has not been told yet waits for a write; what a plan no longer says may be told again when it says so again.
    events: hasWritten ? said : told.events.intersection(said),
    alerts: new Set(alerts.map(idOf)),
  };
}

function idOf({ type, reason, note }: EventInput): string {
  return JSON.stringify([type, reason, note]);
}
