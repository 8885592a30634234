// Departures: the Submariner resources that are being deleted, and a sink that lets each leave its broker.
import { isForbidden, isUnauthorized, Secret } from '@capstan/kube';
import { derivation, reading, sink } from '@capstan/reconcile';
import { gatewayConfiguration } from '../deployment/configuration.ts';
import { BROKER_NAMESPACE, Submariner } from '../kinds/index.ts';
import { connectToBroker } from './broker-access.ts';
import { leaveBroker } from './leave-broker.ts';

export interface PendingDeparture {
  readonly clusterID: string;
  readonly server: string;
  readonly namespace: string;
  readonly insecure: boolean;
  readonly ca: string | undefined;
  /** Undefined when the Secret is gone: then only the broker's administrator can remove the member. */
  readonly token: string | undefined;
  readonly owner: string;
}

export interface DepartureReport {
  /** False: the broker could not be reached, or refused it; its administrator must remove the member. */
  readonly hasLeft: boolean;
  readonly message: string;
}

const dataOf = ({ data }: Secret) => data ?? {};
const partsOf = ({ metadata, spec }: Submariner) => ({
  isDeleting: metadata.deletionTimestamp !== undefined,
  owner: metadata.uid ?? '',
  spec,
});

const departure = derivation<PendingDeparture | undefined>({
  name: 'departure of a cluster',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    const found = read.get(Submariner, { namespace, name }, partsOf);
    if (found === undefined || !found.isDeleting) return undefined;
    const { spec, owner } = found;
    const { brokerSecret, inline } = gatewayConfiguration(spec);
    if (spec.brokerK8sApiServer === undefined || brokerSecret === undefined) return undefined;
    const data = read.get(Secret, { namespace, name: brokerSecret }, dataOf) ?? {};
    const text = (value: string | undefined) =>
      value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
    return {
      clusterID: spec.clusterID,
      server: spec.brokerK8sApiServer,
      namespace: spec.brokerK8sRemoteNamespace ?? BROKER_NAMESPACE,
      insecure: spec.brokerK8sInsecure ?? false,
      ca: text(data['ca.crt'] ?? spec.brokerK8sCA),
      token: inline.brokerToken ?? text(data['token']),
      owner,
    };
  },
});

/** How often a broker that cannot be reached is tried before the resource is let go. */
const MAX_TRIES = 4;
const TRY_MS = 10_000;

/** Each deleted Submariner leaves its broker; the report lets its finalizer go. */
export const departures = sink<PendingDeparture | undefined, DepartureReport>({
  name: 'departures',
  of: departure,
  keys: Submariner,
  reads: [Submariner, reading(Secret, 'referenced')],
  lease: 'operator',
  timeoutMs: TRY_MS + 5000,
  open({ report, logger, signal: closed }) {
    const tries = new Map<string, number>();
    const leave = async (key: string, value: PendingDeparture, signal: AbortSignal) => {
      const remedy = `remove it there by "subctl remove-member ${value.clusterID}"`;
      if (value.token === undefined) {
        report(key, {
          hasLeft: false,
          message: `cluster "${value.clusterID}": the token for the broker is gone; ${remedy}`,
        });
        return;
      }
      const client = await connectToBroker({ ...value, token: value.token });
      try {
        const until = AbortSignal.any([signal, closed, AbortSignal.timeout(TRY_MS)]);
        const { namespace, clusterID, owner } = value;
        const removed = await leaveBroker({ client, namespace, clusterID, owner, signal: until });
        logger.info('the cluster has left its broker', { cluster: clusterID, removed: removed.length });
        report(key, { hasLeft: true, message: '' });
      } catch (error) {
        const count = (tries.get(key) ?? 0) + 1;
        tries.set(key, count);
        if (count < MAX_TRIES && !isRefusal(error)) throw error;
        const problem = isRefusal(error) ? 'refuses the token of this cluster' : 'cannot be reached';
        report(key, { hasLeft: false, message: `broker ${value.server}: ${problem}; ${remedy}` });
      } finally {
        await client.close();
      }
    };
    return {
      async take({ changes, signal }) {
        for (const { key, after } of changes) {
          if (after === undefined) {
            tries.delete(key);
            report(key, undefined);
          } else await leave(key, after, signal);
        }
      },
    };
  },
});

function isRefusal(error: unknown): boolean {
  return isUnauthorized(error) || isForbidden(error);
}
