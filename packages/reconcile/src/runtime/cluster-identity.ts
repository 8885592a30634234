// Children in other clusters carry the identity of their owner's cluster: nothing is written there before it is known.
import { type Clock, type Logger, Namespace, sleep } from '@capstan/kube/cluster';
import { IDENTITY_NAMESPACE } from '../rbac/index.ts';
import type { World } from '../worlds/index.ts';

const MAX_WAIT_MS = 60_000;

/** Reads it, as often as it takes; undefined when the signal was aborted first. */
export async function readIdentity(
  { client, name }: World,
  { clock, logger, signal }: { clock: Clock; logger: Logger; signal: AbortSignal },
): Promise<string | undefined> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const { metadata } = await client.get(Namespace, { name: IDENTITY_NAMESPACE }, { signal });
      return metadata.uid ?? '';
    } catch (error) {
      if (signal.aborted) return undefined;
      logger.warn('could not read the identity of the cluster; it is tried again', { world: name, error });
      await sleep(clock, Math.min(1000 * 2 ** failures, MAX_WAIT_MS), signal).catch(() => {});
    }
  }
  return undefined;
}
