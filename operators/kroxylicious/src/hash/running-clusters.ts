// Which configuration of each virtual cluster a Deployment runs, from its annotation: `orders=3f2a…,metrics=9c01…`.
// Written with the pod template that it belongs to, so that it is true whenever the operator dies: a cluster that breaks in
// the middle of a change keeps what runs, not what was about to.

/** Ids by name; undefined where an earlier release wrote the name alone. */
export type RunningClusters = ReadonlyMap<string, string | undefined>;

export function formatRunning(clusters: readonly { readonly name: string; readonly hash: string }[]): string {
  return clusters.map(({ name, hash }) => `${name}=${runningId(hash)}`).join(',');
}

export function parseRunning(text: string): RunningClusters {
  const items = text.split(',').filter((item) => item !== '');
  return new Map(items.map((item) => [item.replace(/=.*/, ''), /=(.*)/.exec(item)?.[1]]));
}

/**
 * Of the configurations that a broken cluster had, newest first, the one that stays in force: what runs. `unknown` when
 * something runs that none of them is; undefined when nothing of it runs. Without a Deployment the newest counts.
 */
export function inForce<G extends { readonly hash: string }>(
  good: readonly G[],
  name: string,
  running: RunningClusters | undefined,
): G | 'unknown' | undefined {
  if (running === undefined) return good[0];
  if (!running.has(name)) return undefined;
  const id = running.get(name);
  if (id === undefined) return good[0];
  return good.find(({ hash }) => runningId(hash) === id) ?? 'unknown';
}

/** Enough of a hash to tell the few configurations of one cluster apart: digits of its plain and of its keyed part. */
function runningId(hash: string): string {
  const [, plain = '', , keyed = ''] = hash.split('.');
  return plain.slice(0, DIGITS) + keyed.slice(0, DIGITS);
}

const DIGITS = 8;
