import { type Client, isForbidden, Lease, parseTime } from '@capstan/kube/cluster';
import { leaseName, SYSTEM_NAMESPACE } from '@capstan/reconcile/status';

export interface Leader {
  readonly operator: string;
  /** The instance that writes; undefined when none does. */
  readonly holder?: string;
  /** False when the Lease may not be read. */
  readonly isKnown: boolean;
  /** In words for people: the holder, or why there is none. */
  readonly summary: string;
}

/** Which instance of an operator writes in this cluster, by its Lease. */
export async function leaderOf(
  client: Client,
  operator: { readonly name: string },
  now: number,
  signal: AbortSignal,
): Promise<Leader> {
  const name = leaseName(operator.name);
  const base = { operator: operator.name, isKnown: true };
  try {
    const lease = await client.find(Lease, { namespace: SYSTEM_NAMESPACE, name }, { signal });
    const { holderIdentity: holder = '', renewTime, leaseDurationSeconds = 0 } = lease?.spec ?? {};
    if (holder === '') return { ...base, summary: 'none: no instance runs' };
    const isOver = renewTime !== undefined && now > parseTime(renewTime) + leaseDurationSeconds * 1000;
    if (isOver) return { ...base, summary: `none: ${holder} has not renewed its Lease since ${renewTime}` };
    return { ...base, holder, summary: holder };
  } catch (error) {
    if (isForbidden(error)) return { ...base, isKnown: false, summary: 'not known: you may not get its Lease' };
    throw error;
  }
}
