// Calls back whenever something that the status shows may have changed. Every kind is watched; a watch that ends, or that the
// server refuses, is opened again after a while.
import { type Client, type Kind, Lease, sleep, systemClock, untilAborted } from '@capstan/kube/cluster';

export interface WatchStatusOptions {
  client: Client;
  kinds: readonly Kind[];
  namespace: string | undefined;
  signal: AbortSignal;
  /** Never called twice at a time. */
  refresh(): Promise<void>;
}

const REOPEN_MS = 5000;
/** Several changes at once are shown once. */
const SETTLE_MS = 200;

/** Refreshes once at the start; resolves when the signal is aborted. */
export async function watchStatus(options: WatchStatusOptions): Promise<void> {
  const { client, kinds, namespace, signal, refresh } = options;
  let wake = Promise.withResolvers<void>();
  const changed = () => wake.resolve();
  const watching = [...kinds, Lease].map((kind) => follow(client, kind, namespace, signal, changed));
  while (!signal.aborted) {
    wake = Promise.withResolvers();
    await refresh();
    await Promise.race([wake.promise, untilAborted(signal)]);
    if (!signal.aborted) await sleep(systemClock, SETTLE_MS, signal).catch(() => undefined);
  }
  await Promise.all(watching);
}

async function follow(
  client: Client,
  kind: Kind,
  namespace: string | undefined,
  signal: AbortSignal,
  changed: () => void,
): Promise<void> {
  // Leases are renewed every few seconds, which changes nothing that is shown.
  const holders = new Map<string, string>();
  const isNews = (object: unknown) => {
    if (kind !== Lease) return true;
    const { metadata, spec } = object as Lease;
    const key = `${metadata.namespace}/${metadata.name}`;
    const holder = spec?.holderIdentity ?? '';
    const isSame = holders.get(key) === holder;
    holders.set(key, holder);
    return !isSame;
  };
  const where = kind.scope === 'Namespaced' && namespace !== undefined && kind !== Lease ? { namespace } : {};
  while (!signal.aborted) {
    try {
      const { resourceVersion } = await client.list(kind, { ...where, limit: 1, signal });
      const stream = await client.watch(kind, { ...where, signal, ...(resourceVersion && { resourceVersion }) });
      for await (const events of stream) if (events.some((event) => isNews(event.object))) changed();
    } catch {
      // Not installed, not permitted, or not reachable: the next refresh shows it.
    }
    if (!signal.aborted) await sleep(systemClock, REOPEN_MS, signal).catch(() => undefined);
    changed();
  }
}
