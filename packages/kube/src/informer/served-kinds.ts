// Kinds that a server does not serve (yet) are waited for together: one small question, which groups it has, answers for all of
// them, where each informer would else ask for its own list again and again, for ever (a kind that is optional may never
// come). A server that does not answer it lets them all try for themselves, at the same pace.
import { spread } from '../client/back-off.ts';
import type { Client } from '../client/client.ts';
import { servedAmong } from '../client/discovery.ts';
import type { Clock, Random, Timer } from '../clock.ts';
import type { Kind } from '../kind.ts';

export interface ServedKinds {
  /** Calls once, as soon as the server is known to have the kind, or to be silent about it; cancelled, it never does. */
  await(kind: Kind, call: () => void): Timer;
}

export interface ServedKindsOptions {
  client: Client;
  clock: Clock;
  random: Random;
}

export function createServedKinds({ client, clock, random }: ServedKindsOptions): ServedKinds {
  const waiting = new Set<Waiter>();
  let next: Timer | undefined;
  let looking: AbortController | undefined;

  function plan(): void {
    if (next !== undefined || looking !== undefined || waiting.size === 0) return;
    // Spread, so that the operators of a cluster do not ask in one moment.
    next = clock.after(spread(PACE_MS, random), () => {
      next = undefined;
      void check();
    });
  }

  async function check(): Promise<void> {
    looking = new AbortController();
    const asked = [...waiting];
    const kinds = asked.map(({ kind }) => kind);
    // Whatever is wrong, their own attempts find out, and tell.
    const isThere = await servedAmong(client, kinds, { signal: looking.signal }).catch(() => () => true);
    looking = undefined;
    for (const waiter of asked) if (isThere(waiter.kind) && waiting.delete(waiter)) waiter.call();
    plan();
  }

  return {
    await(kind, call) {
      const waiter = { kind, call };
      waiting.add(waiter);
      plan();
      return {
        cancel() {
          waiting.delete(waiter);
          if (waiting.size > 0) return;
          next?.cancel();
          next = undefined;
          looking?.abort();
        },
      };
    },
  };
}

interface Waiter {
  readonly kind: Kind;
  readonly call: () => void;
}

const PACE_MS = 15_000;
