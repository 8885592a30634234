// Reads and writes the annotation of a Deployment that lists the configuration of each virtual cluster that it runs:
// `orders=3f2a…,metrics=9c01…`. It is written together with the pod template, so that it is correct whenever the operator dies. A cluster
// that breaks in the middle of a change keeps the configuration that runs, not the next one.

/** Ids by name. The id is undefined if an earlier release wrote the name alone. */
export type RunningClusters = ReadonlyMap<string, string | undefined>;

export function formatRunning(clusters: readonly { readonly name: string; readonly hash: string }[]): string {
  return clusters.map(({ name, hash }) => `${name}=${runningId(hash)}`).join(',');
}

export function parseRunning(text: string): RunningClusters {
  const items = text.split(',').filter((item) => item !== '');
  return new Map(items.map((item) => [item.replace(/=.*/, ''), /=(.*)/.exec(item)?.[1]]));
}

/**
 * Returns the configuration of a broken cluster that stays in force: the one that runs. `good` lists the cluster's earlier configurations,
 * newest first. Returns `unknown` if none of them runs but another one does, and undefined if the Deployment does not run the cluster.
 * Without a Deployment the newest one counts.
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

/** Returns a short id that tells the few configurations of one cluster apart: digits of the plain and of the keyed part. */
function runningId(hash: string): string {
  const [, plain = '', , keyed = ''] = hash.split('.');
  return plain.slice(0, DIGITS) + keyed.slice(0, DIGITS);
}

const DIGITS = 8;
