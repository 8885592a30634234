// Each replica's Lease: that it lives, and which configuration is in force in it.
import { type Client, formatMicroTime, Lease, reasonOf, type Timer } from '@capstan/kube';
import { type Derived, derivation, type Sink, sink } from '@capstan/reconcile';
import {
  formatRecord,
  INSTANCE_ANNOTATION,
  INSTANCE_LABEL,
  INSTANCE_MANAGER,
  type InstanceRecord,
  LEASE_SECONDS,
  RENEW_MS,
} from '../configuration/instance-record.ts';
import type { Controlled, ControllersReport } from './controllers.ts';
import type { InForce, Reads } from './in-force.ts';
import type { ProcessReport } from './process.ts';
import type { Socket, SocketReport } from './sockets.ts';

export interface HeartbeatOptions {
  /** Known when the sink is opened. */
  client(): Client;
  readonly namespace: string;
  /** The pod. */
  readonly pod: string;
  /** Its uid, where it is one: its Lease goes with it. */
  readonly podUid?: string | undefined;
  /** The SesameConfiguration. */
  readonly configuration: string;
  readonly inForce: Derived<InForce>;
  readonly reads: Reads;
  readonly sockets: Sink<Socket, SocketReport>;
  readonly socketKeys: Derived<readonly string[]>;
  readonly controllers: Sink<Controlled, ControllersReport>;
  readonly process: Sink<InForce, ProcessReport>;
}

/** The report of the process about itself: a version is in force when every part of it has it. */
export function recordDerivation(
  options: Omit<HeartbeatOptions, 'client' | 'namespace' | 'pod'>,
): Derived<InstanceRecord> {
  const { configuration, inForce, sockets, socketKeys, controllers, process } = options;
  return derivation<InstanceRecord>({
    name: 'instance-record',
    compute({ read }) {
      const wanted = read.derived(inForce, '', versionOf);
      const report = read.sink(controllers).report('');
      const keys = read.derived(socketKeys, '');
      const states = keys.map((key) => ({ key, ...read.sink(sockets).state(key) }));
      const failed = states.find(({ state }) => state === 'failed');
      const nacks = report?.nacks ?? [];
      const warnings = report?.warnings ?? [];
      const errors = read.sink(process).report('')?.errors ?? [];
      const common = {
        configuration,
        source: wanted.source,
        nacks,
        ...(warnings.length > 0 && { warnings }),
        ...(errors.length > 0 && { errors }),
      };
      if (failed !== undefined) return { ...common, state: 'Failed', problem: failed.error?.message };
      if (report === undefined || states.some(({ state }) => state !== 'delivered'))
        return { ...common, state: 'Starting' };
      const { state, problem, source, version } = report;
      return { ...common, source, state, ...(version && { version }), ...(problem === undefined ? {} : { problem }) };
    },
  });
}

const versionOf = ({ source, version }: InForce) => ({ source, version });

export function heartbeatSink(
  of: Derived<InstanceRecord>,
  { client, namespace, pod, podUid, reads }: HeartbeatOptions,
): Sink<InstanceRecord> {
  return sink<InstanceRecord>({
    name: 'heartbeat',
    of,
    keys: derivation<readonly string[]>({ name: 'heartbeat-key', compute: () => [''] }),
    reads,
    lease: 'none',
    open({ clock, logger, signal }) {
      const name = `sesame-${pod}`;
      let record: InstanceRecord | undefined;
      let timer: Timer | undefined;
      const write = async (within: AbortSignal) => {
        if (record === undefined) return;
        const lease: Lease = {
          apiVersion: Lease.apiVersion,
          kind: Lease.kind,
          metadata: {
            namespace,
            name,
            labels: { [INSTANCE_LABEL]: 'true' },
            annotations: { [INSTANCE_ANNOTATION]: formatRecord(record) },
            ...(podUid && { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod, uid: podUid }] }),
          },
          spec: { holderIdentity: pod, leaseDurationSeconds: LEASE_SECONDS, renewTime: formatMicroTime(clock.now()) },
        };
        await client().apply(Lease, lease, { fieldManager: INSTANCE_MANAGER, force: true, signal: within });
      };
      const renew = () => {
        timer?.cancel();
        timer = clock.after(RENEW_MS, () => {
          write(signal).then(renew, (error: unknown) => {
            if (signal.aborted) return;
            logger.warn('the Lease of this instance cannot be renewed', { reason: reasonOf(error) });
            renew();
          });
        });
      };
      return {
        async take({ changes, signal: within }) {
          record = changes.at(-1)?.after ?? record;
          await write(within);
          renew();
        },
        async close() {
          timer?.cancel();
          // Others need not wait for it to expire.
          await client()
            .delete(Lease, { namespace, name })
            .catch(() => {});
        },
      };
    },
  });
}
