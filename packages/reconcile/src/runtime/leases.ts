// Who may act on which sink. Sinks of one lease share one leadership; those without a lease always act.
import { alwaysLeader, type Leadership } from '../leadership/index.ts';
import type { Operator } from '../operator.ts';
import type { BoundSink, SinkLease } from '../sinks/index.ts';

export interface Leases {
  of(operator: Operator, lease: BoundSink['lease']): Leadership;
  /** Contends for all leases, those that are asked for later too, until the signal is aborted. */
  start(signal: AbortSignal, onChange: (leadership: Leadership, holds: boolean) => void): Promise<void>;
}

export interface LeasesOptions {
  leadership?: (operator: Operator) => Leadership;
  sinkLeadership?: (operator: Operator, lease: SinkLease) => Leadership;
}

export function createLeases(options: LeasesOptions): Leases {
  const known = new Map<string, Leadership>();
  const running = new Set<Promise<void>>();
  let started: { signal: AbortSignal; onChange: (leadership: Leadership, holds: boolean) => void } | undefined;

  function contend(leadership: Leadership): void {
    if (started === undefined) return;
    const { signal, onChange } = started;
    leadership.onChange((holds) => onChange(leadership, holds));
    if (leadership.holds) onChange(leadership, true);
    running.add(leadership.run(signal));
  }

  return {
    of(operator, lease) {
      if (lease === 'none') return alwaysLeader;
      const id = lease === 'operator' ? operator.name : `${operator.name} ${lease.namespace ?? ''}/${lease.name}`;
      const found = known.get(id);
      if (found !== undefined) return found;
      const created = (lease === 'operator'
        ? options.leadership?.(operator)
        : options.sinkLeadership?.(operator, lease)) ?? { ...alwaysLeader }; // Each its own, so that a change of one is not taken for a change of all.
      known.set(id, created);
      contend(created);
      return created;
    },
    async start(signal, onChange) {
      started = { signal, onChange };
      onChange(alwaysLeader, true);
      for (const leadership of known.values()) contend(leadership);
      while (!signal.aborted || running.size > 0) {
        const all = [...running];
        if (all.length === 0) {
          await alwaysLeader.run(signal);
          continue;
        }
        await Promise.all(all);
        for (const one of all) running.delete(one);
      }
    },
  };
}
