// Which hosts each port of a Gateway serves, by which routes. A name belongs to the most specific listener of its port that covers
// it, and to no other: routes of the others are not reached under that name.
import { covers, specificity } from '../api/hostnames.ts';
import type { RouteKindName } from '../api/objects.ts';
import type { ListenerState } from '../listeners/listener-state.ts';
import type { Attachment } from '../routes/attachment.ts';

/** A route with its parent. In the order of precedence: oldest first, then by name. */
export interface AttachedRoute {
  readonly kind: RouteKindName;
  /** NAMESPACE/NAME. */
  readonly key: string;
  readonly attachments: readonly Attachment[];
}

export interface PlannedHost {
  readonly listener: string;
  readonly port: number;
  readonly host: string;
  /** KIND/NAMESPACE/NAME, in the order of precedence. */
  readonly routes: readonly string[];
}

export function planHosts(listeners: readonly ListenerState[], routes: readonly AttachedRoute[]): PlannedHost[] {
  const served = listeners.filter(({ isServed }) => isServed);
  return served.flatMap((listener) => {
    const rivals = served.filter(
      (other) =>
        other !== listener &&
        other.port === listener.port &&
        specificity(other.host) > specificity(listener.host) &&
        covers(listener.host, other.host),
    );
    const byHost = new Map<string, Set<string>>();
    for (const { kind, key, attachments } of routes)
      for (const { listeners: attached } of attachments)
        for (const { listener: name, hosts } of attached) {
          if (name !== listener.name) continue;
          for (const host of hosts) {
            if (rivals.some((rival) => covers(rival.host, host))) continue;
            const known = byHost.get(host);
            if (known) known.add(`${kind}/${key}`);
            else byHost.set(host, new Set([`${kind}/${key}`]));
          }
        }
    return [...byHost].map(([host, keys]) => ({
      listener: listener.name,
      port: listener.port,
      host,
      routes: [...keys],
    }));
  });
}

/** How many routes each listener has. */
export function attachedCounts(routes: readonly AttachedRoute[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { attachments } of routes) {
    const names = new Set(attachments.flatMap(({ listeners }) => listeners.map(({ listener }) => listener)));
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
