import type { LeadershipObserver } from '../leadership/index.ts';
import type { Registry } from './registry.ts';

export interface LeadershipMetrics {
  /** Observes the election for the lease of this name. */
  leadership(name: string): LeadershipObserver;
}

/** Leader election, under client-go's names. */
export function leadershipMetrics(registry: Registry): LeadershipMetrics {
  const status = registry.gauge({
    name: 'leader_election_master_status',
    help: '1 while this process holds the lease of that name, 0 otherwise.',
    labels: ['name'],
  });
  const slow = registry.counter({
    name: 'leader_election_slowpath_total',
    help: 'Renewals of the lease that needed more than one write.',
    labels: ['name'],
  });
  return {
    leadership(name) {
      const series = { status: status.of({ name }), slow: slow.of({ name }) };
      return {
        changed: (holds) => series.status.set(holds ? 1 : 0),
        slowPath: () => series.slow.inc(),
      };
    },
  };
}
