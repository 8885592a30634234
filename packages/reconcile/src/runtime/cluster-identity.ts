// Children in other clusters carry the identity of their owner's cluster: nothing is written there before it is known.
import { backOff, type Clock, type Logger, Namespace, type Random, sleep } from '@capstan/kube/cluster';
import { IDENTITY_NAMESPACE } from '../rbac/index.ts';
import type { World } from '../worlds/index.ts';

const BACK_OFF = { firstMs: 1000, longestMs: 60_000 };

/** Reads it, as often as it takes; undefined when the signal was aborted first. */
export async function readIdentity(
  { client, name }: World,
  { clock, random, logger, signal }: { clock: Clock; random: Random; logger: Logger; signal: AbortSignal },
): Promise<string | undefined> {
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      const { metadata } = await client.get(Namespace, { name: IDENTITY_NAMESPACE }, { signal });
      return metadata.uid ?? '';
    } catch (error) {
      if (signal.aborted) return undefined;
      logger.warn('could not read the identity of the cluster; it is tried again', { world: name, error });
      await sleep(clock, backOff(failures, BACK_OFF, random), signal).catch(() => {});
    }
  }
  return undefined;
}
