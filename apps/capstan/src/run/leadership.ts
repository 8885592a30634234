// Who may write, for each operator, and who tells Events about it: the recorder flushes after the last write and before
// the lease is given back, so its life is part of the leadership's.
import type { Client, Clock, Logger, Random } from '@capstan/kube';
import {
  alwaysLeader,
  createEventRecorder,
  createLeaderElection,
  type EventRecorder,
  type Leadership,
  leaseName,
  type Operator,
  type StandardMetrics,
} from '@capstan/reconcile';
import type { ElectionSettings } from './run-options.ts';

export interface LeadershipOptions {
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  metrics: StandardMetrics;
  identity: string;
  /** The operators' own namespace. */
  namespace: string;
  operators: readonly Operator[];
  election: ElectionSettings | undefined;
}

export interface Led {
  readonly leadership: Leadership;
  readonly events: EventRecorder;
}

/** A leadership and an event recorder for each operator. */
export function createLeaderships(options: LeadershipOptions): ReadonlyMap<Operator, Led> {
  return new Map(options.operators.map((operator) => [operator, ledOperator(operator, options)]));
}

function ledOperator(operator: Operator, options: LeadershipOptions): Led {
  const { client, clock, random, logger, metrics, identity } = options;
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

function electionOf(operator: Operator, options: LeadershipOptions): Leadership {
  const { client, clock, random, metrics, identity, election, operators } = options;
  if (election === undefined) return alwaysLeader;
  // One name for several operators would be one lease for several sinks.
  const given =
    operators.length > 1 && election.name !== undefined ? `${election.name}-${operator.name}` : election.name;
  const name = given ?? leaseName(operator.name);
  return createLeaderElection({
    client,
    clock,
    random,
    identity,
    lease: { namespace: election.namespace ?? options.namespace, name },
    times: election.times,
    logger: options.logger.with({ operator: operator.name }),
    observe: metrics.leadership(name),
  });
}

/** The same leadership, given up only after the recorder has written what is left. */
function endingAfter(events: EventRecorder, election: Leadership): Leadership {
  return {
    get holds() {
      return election.holds;
    },
    onChange: (listener) => election.onChange(listener),
    async run(signal) {
      const stop = new AbortController();
      const recording = events.run(signal).finally(() => stop.abort());
      await Promise.all([election.run(stop.signal), recording]);
    },
  };
}
