// Leader election whose Lease comes from the configuration: an edit gives the old Lease back and contends for the new one. A Lease that
// the server refuses (no permission, no such namespace) is reported, and one in Sesame's own namespace takes its place, so that the
// status of the configuration is written all the same.
import type { Client, Clock, Logger, OwnerReference, Random } from '@capstan/kube';
import { isForbidden, isNotFound, parseDuration, reasonOf } from '@capstan/kube';
import { alwaysLeader, createLeaderElection, type Leadership } from '@capstan/reconcile';
import type { EffectiveConfiguration } from '../configuration/index.ts';
import { errorAt, type Problem } from '../configuration/problem.ts';

type ElectionSettings = EffectiveConfiguration['leaderElection'];

export interface SwitchingLeadership extends Leadership {
  /** Contends as these settings say from now on. */
  use(settings: ElectionSettings): void;
  /** Calls back with the problem of the configured Lease, and with undefined when it is solved. */
  onProblem(listener: (problem: Problem | undefined) => void): void;
}

export interface SwitchingOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly identity: string;
  /** The Lease in Sesame's own namespace that takes the place of one that cannot be used. */
  readonly fallback: { readonly namespace: string; readonly name: string };
  /** The object in Sesame's own namespace with which Leases there are deleted; default: none. */
  readonly owner?: (signal: AbortSignal) => Promise<OwnerReference | undefined>;
}

export function createSwitchingLeadership(options: SwitchingOptions): SwitchingLeadership {
  const listeners = new Set<(holds: boolean) => void>();
  let current: { key: string; leadership: Leadership } | undefined;
  let change = Promise.withResolvers<void>();
  let tellProblem: (problem: Problem | undefined) => void = () => undefined;

  return {
    get holds() {
      return current?.leadership.holds ?? false;
    },
    use(settings) {
      const key = JSON.stringify(settings);
      if (current?.key === key) return;
      tellProblem(undefined);
      current = { key, leadership: electionOf(settings, options, (problem) => tellProblem(problem)) };
      change.resolve();
      change = Promise.withResolvers<void>();
    },
    onProblem(listener) {
      tellProblem = listener;
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
  options: SwitchingOptions,
  onProblem: (problem: Problem | undefined) => void,
): Leadership {
  // Each its own, so that a change of settings is a change.
  if (settings.disableLeaderElection) return { ...alwaysLeader };
  const { client, clock, random, logger, identity, fallback, owner } = options;
  const times = {
    leaseMs: parseDuration(settings.leaseDuration),
    renewMs: parseDuration(settings.renewDeadline),
    retryMs: parseDuration(settings.retryPeriod),
  };
  const { name, namespace } = settings.configmap;
  const common = { client, clock, random, logger, identity, times };
  const owned = (leaseNamespace: string) => (owner && leaseNamespace === fallback.namespace ? { owner } : {});
  const second = createLeaderElection({ ...common, ...owned(fallback.namespace), lease: fallback });
  let isRefused = false;
  let refuse: (isRefused: boolean) => void = () => undefined;
  const first = createLeaderElection({
    ...common,
    ...owned(namespace),
    lease: { name, namespace },
    observe: {
      changed: () => undefined,
      slowPath: () => undefined,
      tried(error) {
        const isLockError = isForbidden(error) || isNotFound(error);
        // Another error, or none, is no evidence about permissions while it lasts.
        if (isLockError === isRefused || (error !== undefined && !isLockError)) return;
        isRefused = isLockError;
        onProblem(isLockError ? lockProblem(namespace, name, error) : undefined);
        refuse(isRefused);
      },
    },
  });
  return {
    get holds() {
      return isRefused ? second.holds : first.holds;
    },
    onChange(listener) {
      const ends = [
        first.onChange((holds) => isRefused || listener(holds)),
        second.onChange((holds) => !isRefused || listener(holds)),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
    async run(signal) {
      let ending = new AbortController();
      let running: Promise<void> = Promise.resolve();
      refuse = (isNow) => {
        const before = running;
        ending.abort();
        if (!isNow || signal.aborted) return;
        ending = new AbortController();
        const { signal: within } = ending;
        running = before.then(() => (within.aborted ? undefined : second.run(within)));
      };
      try {
        await first.run(signal);
      } finally {
        ending.abort();
        await running;
      }
    },
  };
}

function lockProblem(namespace: string, name: string, error: unknown): Problem {
  return errorAt(
    'leaderElection.configmap',
    'LockNotUsable',
    `names the Lease ${namespace}/${name}, which cannot be used (${reasonOf(error)}); create the namespace and grant Sesame the right to create, get, update and watch leases there, or remove it`,
  );
}
