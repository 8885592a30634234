// The end of one membership: everything of the cluster goes from its broker, with the first of its credentials that the broker accepts.
import { type Client, isForbidden, isUnauthorized } from '@capstan/kube';
import type { BrokerAccess } from './broker-access.ts';
import { accountOfToken, type Membership } from './broker-record.ts';
import { leaveBroker } from './leave-broker.ts';
import { accountOf } from './names.ts';

export interface EndOptions extends Membership {
  /** The uid of the Submariner: another cluster of the same id keeps its objects. */
  readonly owner: string;
  /** Whether the account stays, because the next membership uses it. */
  readonly keepsAccount?: boolean;
  readonly connect: (access: BrokerAccess) => Promise<Client>;
  readonly signal: AbortSignal;
}

export interface EndResult {
  readonly hasLeft: boolean;
  /** The reason and the remedy. */
  readonly message: string;
}

/** Leaves the broker of a membership. Throws if the broker cannot be reached. Can be repeated. */
export async function endMembership(options: EndOptions): Promise<EndResult> {
  const { record, credentials, owner, keepsAccount = false, connect, signal } = options;
  const { server, namespace, clusterID, insecure = false } = record;
  const remedy = `if cluster "${clusterID}" is still there, remove it by "subctl remove-member ${clusterID}"`;
  for (const { token, ca } of credentials) {
    const account = accountOfToken(token);
    const isOwn = account?.namespace === namespace && account.name.startsWith(accountOf(''));
    const client = await connect({ server, ca, token, insecure });
    try {
      await leaveBroker({
        client,
        namespace,
        clusterID,
        account: keepsAccount ? undefined : isOwn ? account.name : accountOf(clusterID),
        ...(owner !== '' && { owner }),
        signal,
      });
      return { hasLeft: true, message: '' };
    } catch (error) {
      if (!isUnauthorized(error) && !isForbidden(error)) throw error;
    } finally {
      await client.close();
    }
  }
  const problem = credentials.length === 0 ? 'there is no token for it' : 'refuses the token of this cluster';
  return { hasLeft: false, message: `broker ${server}: ${problem}; ${remedy}` };
}
