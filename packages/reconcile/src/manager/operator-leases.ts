// The leadership of each operator, and the Events about its writes: the recorder flushes after the last write and before the Lease is given
// back, so its life is part of the leadership's.
import type { Client, Clock, Logger, ObjectRef, Random } from '@capstan/kube/cluster';
import { createEventRecorder, type EventRecorder } from '../events/index.ts';
import { alwaysLeader, createLeaderElection, type Leadership, type LeaseTimes } from '../leadership/index.ts';
import type { StandardMetrics } from '../metrics/index.ts';
import type { Operator } from '../operator.ts';
import { leaseName } from '../rbac/index.ts';
import type { SinkLease } from '../sinks/index.ts';

export interface LeaseSettings {
  /** The Lease; default `capstan-OPERATOR`. With several operators each has one of its own, `NAME-OPERATOR`. */
  readonly name?: string;
  /** Default 15 s, 10 s, 2 s. */
  readonly times?: Partial<LeaseTimes>;
  /**
   * How long the caches of an operator may be stale before this instance gives its Lease up, until they are current again.
   * At least 60 s. Default 2 minutes. `Infinity` never gives up.
   */
  readonly staleLimitMs?: number;
}

export interface OperatorLeasesOptions {
  /** Returns the client that an operator writes through. */
  clientFor(operator: string): Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  metrics: StandardMetrics;
  identity: string;
  /** Where the Leases are. */
  namespace: string;
  operators: readonly Operator[];
  /** Undefined: no election, this process always writes. */
  leases: LeaseSettings | undefined;
  /** The reason why this instance must not lead an operator now. */
  unfit(operator: Operator): string | undefined;
}

export interface OperatorLease {
  readonly leadership: Leadership;
  readonly events: EventRecorder;
}

/** A leadership and a recorder of Events for each operator. */
export function createOperatorLeases(options: OperatorLeasesOptions): ReadonlyMap<Operator, OperatorLease> {
  return new Map(options.operators.map((operator) => [operator, leaseOf(operator, options)]));
}

function leaseOf(operator: Operator, options: OperatorLeasesOptions): OperatorLease {
  const { clock, random, logger, metrics, identity } = options;
  const client = options.clientFor(operator.name);
  const election = electionOf(operator, options);
  const events = createEventRecorder({
    client,
    clock,
    random,
    logger,
    leadership: election,
    observe: metrics.events,
    controller: `capstan.dev/${operator.name}`,
    instance: identity,
  });
  return { leadership: endingAfter(events, election), events };
}

function electionOf(operator: Operator, options: OperatorLeasesOptions): Leadership {
  const { leases, namespace } = options;
  if (leases === undefined) return alwaysLeader;
  const name = leaseNameOf(operator, options.operators, leases);
  return contend(operator, { namespace, name, ...(leases.times && { times: leases.times }) }, options);
}

/** The leadership of a sink with a Lease of its own. */
export function sinkLeadership(
  operator: Operator,
  lease: Required<Omit<SinkLease, 'times'>> & SinkLease,
  options: OperatorLeasesOptions,
): Leadership {
  return options.leases === undefined ? alwaysLeader : contend(operator, lease, options);
}

function contend(
  operator: Operator,
  { namespace, name, times }: Required<ObjectRef> & Pick<SinkLease, 'times'>,
  { clientFor, clock, random, metrics, identity, logger, unfit }: OperatorLeasesOptions,
): Leadership {
  return createLeaderElection({
    client: clientFor(operator.name),
    clock,
    random,
    identity,
    lease: { namespace, name },
    ...(times && { times }),
    unfit: () => unfit(operator),
    logger: logger.with({ operator: operator.name }),
    observe: metrics.leadership(name),
  });
}

/** One name for several operators would be one Lease for all. */
export function leaseNameOf({ name }: Operator, operators: readonly Operator[], leases: LeaseSettings): string {
  if (leases.name === undefined) return leaseName(name);
  return operators.length > 1 ? `${leases.name}-${name}` : leases.name;
}

/** The same leadership, given up only after the recorder has written the rest. */
function endingAfter(events: EventRecorder, election: Leadership): Leadership {
  return {
    get holds() {
      return election.holds;
    },
    get holder() {
      return election.holder;
    },
    onChange: (listener) => election.onChange(listener),
    async run(signal) {
      const stop = new AbortController();
      const recording = events.run(signal).finally(() => stop.abort());
      await Promise.all([election.run(stop.signal), recording]);
    },
  };
}
