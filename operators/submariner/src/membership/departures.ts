// Departures: the Submariner resources that are deleted, or name another broker than they have joined, and a sink that lets each
// leave the broker that it recorded.
import { type Client, isForbidden, isUnauthorized, reasonOf, Secret, sleep } from '@capstan/kube';
import { derivation, reading, type Sink, sink } from '@capstan/reconcile';
import { Cluster, Submariner } from '../kinds/index.ts';
import { type BrokerAccess, connectToBroker } from './broker-access.ts';
import {
  type Credentials,
  departureOf,
  identityOf,
  isSameAccount,
  isSameMembership,
  type Membership,
  type PendingDeparture,
} from './broker-record.ts';
import { endMembership } from './end-membership.ts';
import { LEFT_ANNOTATION } from './names.ts';

export interface DepartureReport {
  /** The recorded membership that the report is about. */
  readonly of: string;
  /**
   * `left`: nothing of the cluster is on the broker. `unchanged`: the resource names the same broker by another address. `given up`:
   * the administrator of the broker must remove the member. `waiting`: it is tried again.
   */
  readonly outcome: 'left' | 'unchanged' | 'given up' | 'waiting';
  readonly message: string;
}

/** Opens a client of a broker; tests have other ways than a network. */
export type ConnectToBroker = (access: BrokerAccess) => Promise<Client>;
export type Departures = Sink<PendingDeparture | undefined, DepartureReport>;

const dataOf = ({ data }: Secret) => data ?? {};
const partsOf = ({ metadata, spec, status }: Submariner) => ({
  metadata: {
    uid: metadata.uid,
    annotations: metadata.annotations,
    deletionTimestamp: metadata.deletionTimestamp,
  } as Submariner['metadata'],
  spec,
  status: { broker: status?.broker } as Submariner['status'],
});

const departure = derivation<PendingDeparture | undefined>({
  name: 'departure of a cluster',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    const found = read.get(Submariner, { namespace, name }, partsOf);
    return found && departureOf(found, (secret) => read.get(Secret, { namespace, name: secret }, dataOf));
  },
});

/** How often a broker that cannot be reached is tried before a deleted resource is let go. */
const MAX_TRIES = 4;
const TRY_MS = 10_000;
/** The pause before the first repetition; it doubles up to the second value. */
const RETRY_MS = 500;
const RETRY_MAX_MS = 60_000;

export function createDepartures(connect: ConnectToBroker = connectToBroker): Departures {
  return sink<PendingDeparture | undefined, DepartureReport>({
    name: 'departures',
    of: departure,
    keys: Submariner,
    reads: [Submariner, reading(Secret, 'referenced')],
    lease: 'operator',
    timeoutMs: 3 * TRY_MS,
    open({ report, mayAct, clock, logger, signal: closed }) {
      const tries = new Map<string, { readonly value: PendingDeparture; readonly count: number }>();
      /** Ends one membership; an error is one of a broker that cannot be reached. */
      const end = async (value: PendingDeparture, one: Membership, isLast: boolean, signal: AbortSignal) => {
        const { record } = one;
        const keepsAccount = usesAccountOf(value.next?.credentials, one);
        try {
          const ended = await endMembership({ ...one, owner: value.owner, keepsAccount, connect, signal });
          if (ended.hasLeft) logger.info('the cluster has left its broker', { cluster: record.clusterID });
          return ended.hasLeft ? '' : ended.message;
        } catch (error) {
          if (!isLast) throw error;
          return unreachable(one, error, `remove it there by "subctl remove-member ${record.clusterID}"`);
        }
      };
      /** Returns false if it is to be tried again; the report gives the reason. */
      const leave = async (key: string, value: PendingDeparture, signal: AbortSignal): Promise<boolean> => {
        const [first] = value.ends;
        const of = first === undefined ? '' : identityOf(first.record);
        const last = tries.get(key);
        const count = last?.value === value ? last.count + 1 : 1;
        tries.set(key, { value, count });
        const wait = (message: string) => {
          report(key, { of, outcome: 'waiting', message });
          return false;
        };
        if (value.next !== undefined && first !== undefined) {
          const { record, credentials } = value.next;
          const stays = `cluster "${first.record.clusterID}": stays with broker ${first.record.server} until then`;
          if (credentials === undefined) {
            wait(`broker ${record.server}: its Secret has no token; create it with the key token; ${stays}`);
            // The Secret is watched: the departure changes with it.
            return true;
          }
          try {
            await greet(connect, record, credentials, signal);
          } catch (error) {
            const isRefused = isUnauthorized(error) || isForbidden(error);
            const problem = isRefused ? 'refuses the token in its Secret' : `cannot be reached (${reasonOf(error)})`;
            return wait(`broker ${record.server}: ${problem}; correct it; ${stays}`);
          }
          const isSame =
            isSameMembership({ ...first.record, server: record.server }, record) && usesAccountOf(credentials, first);
          if (isSame) {
            report(key, { of, outcome: 'unchanged', message: '' });
            return true;
          }
        }
        const problems: string[] = [];
        for (const one of value.ends)
          try {
            problems.push(await end(value, one, value.isFinal && count >= MAX_TRIES, signal));
          } catch (error) {
            const { server, clusterID } = one.record;
            const remedy = `if it is gone for good, annotate this resource with ${LEFT_ANNOTATION}=${server}, and remove the cluster there later by "subctl remove-member ${clusterID}"`;
            return wait(unreachable(one, error, value.isFinal ? 'it is tried again' : remedy));
          }
        const message = problems.filter((each) => each !== '').join('; ');
        report(key, { of, outcome: message === '' ? 'left' : 'given up', message });
        return true;
      };
      const retries = new Set<Promise<void>>();
      /** A broker that is away is a state, which the resource reports, and no error of this sink. */
      const settle = async (key: string, value: PendingDeparture, signal: AbortSignal): Promise<void> => {
        if (await leave(key, value, AbortSignal.any([signal, closed, AbortSignal.timeout(TRY_MS)]))) return;
        const pauseMs = Math.min(RETRY_MS * 2 ** ((tries.get(key)?.count ?? 1) - 1), RETRY_MAX_MS);
        const again = sleep(clock, pauseMs, closed)
          .then(async () => {
            if (mayAct() && tries.get(key)?.value === value) await settle(key, value, closed);
          })
          .catch((error: unknown) => {
            if (!closed.aborted) logger.error('a departure is not tried again', { key, error });
          })
          .finally(() => retries.delete(again));
        retries.add(again);
      };
      return {
        async take({ changes, signal }) {
          for (const { key, after } of changes) {
            if (after === undefined) {
              tries.delete(key);
              report(key, undefined);
            } else await settle(key, after, signal);
          }
        },
        async close() {
          await Promise.allSettled(retries);
        },
      };
    },
  });
}

/** Resolves when the broker accepts the credentials of this cluster. */
async function greet(
  connect: ConnectToBroker,
  { server, namespace, insecure = false }: Membership['record'],
  credentials: Credentials,
  signal: AbortSignal,
): Promise<void> {
  const client = await connect({ server, insecure, ...credentials });
  try {
    await client.list(Cluster, { namespace, limit: 1, signal });
  } finally {
    await client.close();
  }
}

/** Whether credentials are of the account of a membership. Its first credentials are its oldest, and surely of its broker. */
function usesAccountOf(given: Credentials | undefined, { credentials: [oldest] }: Membership): boolean {
  return given !== undefined && oldest !== undefined && isSameAccount(given.token, oldest.token);
}

function unreachable({ record: { server, clusterID } }: Membership, error: unknown, remedy: string): string {
  return `broker ${server}: cannot be reached (${reasonOf(error)}), and cluster "${clusterID}" is still there; ${remedy}`;
}
