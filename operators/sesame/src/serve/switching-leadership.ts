// Leader election whose Lease comes from the configuration: an edit gives the old Lease back and contends for the new one.
import type { Client, Clock, Logger, Random } from '@capstan/kube';
import { parseDuration } from '@capstan/kube';
import { alwaysLeader, createLeaderElection, type Leadership } from '@capstan/reconcile';
import type { EffectiveConfiguration } from '../configuration/index.ts';

type ElectionSettings = EffectiveConfiguration['leaderElection'];

export interface SwitchingLeadership extends Leadership {
  /** Contends as these settings say from now on. */
  use(settings: ElectionSettings): void;
}

export interface SwitchingOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly identity: string;
}

export function createSwitchingLeadership(options: SwitchingOptions): SwitchingLeadership {
  const listeners = new Set<(holds: boolean) => void>();
  let current: { key: string; leadership: Leadership } | undefined;
  let change = Promise.withResolvers<void>();

  return {
    get holds() {
      return current?.leadership.holds ?? false;
    },
    use(settings) {
      const key = JSON.stringify(settings);
      if (current?.key === key) return;
      current = { key, leadership: electionOf(settings, options) };
      change.resolve();
      change = Promise.withResolvers<void>();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async run(signal) {
      const stopped = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => stopped.resolve(), { once: true });
      while (!signal.aborted) {
        const next = change.promise;
        const { leadership } = current ?? {};
        if (leadership === undefined) {
          await Promise.race([next, stopped.promise]);
          continue;
        }
        const ending = new AbortController();
        const abort = () => ending.abort();
        signal.addEventListener('abort', abort, { once: true });
        const off = leadership.onChange((holds) => {
          for (const listener of listeners) listener(holds);
        });
        if (leadership.holds) for (const listener of listeners) listener(true);
        const running = leadership.run(ending.signal);
        await Promise.race([next, stopped.promise]);
        ending.abort();
        await running;
        off();
        signal.removeEventListener('abort', abort);
        for (const listener of listeners) listener(false);
      }
    },
  };
}

function electionOf(
  settings: ElectionSettings,
  { client, clock, random, logger, identity }: SwitchingOptions,
): Leadership {
  // Each its own, so that a change of settings is a change.
  if (settings.disableLeaderElection) return { ...alwaysLeader };
  const { name, namespace } = settings.configmap;
  return createLeaderElection({
    client,
    clock,
    random,
    logger,
    identity,
    lease: { name, namespace },
    times: {
      leaseMs: parseDuration(settings.leaseDuration),
      renewMs: parseDuration(settings.renewDeadline),
      retryMs: parseDuration(settings.retryPeriod),
    },
  });
}
