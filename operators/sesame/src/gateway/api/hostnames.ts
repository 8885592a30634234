// Hostnames of listeners and routes: "*.example.com" stands for every name below example.com, no hostname for all.

/** Returns the host that both a listener and a route match; undefined when there is none. */
export function intersect(listener: string, route: string): string | undefined {
  const [one, other] = [listener.toLowerCase(), route.toLowerCase()];
  if (covers(one, other)) return other;
  return covers(other, one) ? one : undefined;
}

/** Returns the hosts of a route through a listener; "*" for all names, none when the two have nothing in common. */
export function servedHosts(listener: string | undefined, route: readonly string[] | undefined): string[] {
  const own = listener === undefined || listener === '' ? '*' : listener;
  if (route === undefined || route.length === 0) return [own.toLowerCase()];
  return [...new Set(route.flatMap((host) => intersect(own, host) ?? []))];
}

/** Whether every name of the second is one of the first. */
export function covers(wide: string, narrow: string): boolean {
  if (wide === '*' || wide === narrow) return true;
  return wide.startsWith('*.') && narrow.endsWith(wide.slice(1));
}

/** The more specific of two that cover the same name is the larger. */
export function specificity(host: string): number {
  if (host === '*') return 0;
  return host.startsWith('*') ? host.length : 1_000 + host.length;
}

/** Returns the listener of a port that a request for this name belongs to. */
export function mostSpecific<T extends { readonly host: string }>(
  listeners: readonly T[],
  name: string,
): T | undefined {
  let best: T | undefined;
  for (const listener of listeners)
    if (covers(listener.host, name) && (!best || specificity(listener.host) > specificity(best.host))) best = listener;
  return best;
}
