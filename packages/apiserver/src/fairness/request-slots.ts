// Requests that are worked on at once, shared as API Priority and Fairness does in its simplest form: each level has slots of its own, a
// user has at most half of them, a connection at most a quarter, and requests that find none wait in a queue that is fair to both.
//
// A slot is held while the server works, never while it waits for a client: a request takes it once its body has arrived, and gives
// it back when the answer is known. Answers that clients have yet to read are counted in bytes instead.
import type { Clock, Timer } from '@capstan/kube';
import { ANONYMOUS } from '../auth/authenticate.ts';
import type { UserInfo } from '../core.ts';
import { tooManyRequests } from '../errors.ts';
import { createFairQueue, type FairQueue, type Sender } from './fair-queue.ts';

export interface RequestSlots {
  /**
   * Takes a slot, at once or when there is one. The promise rejects with TooManyRequests when there is none for too long, or too many wait
   * already. Returns the function that gives it back.
   */
  enter(sender: LevelledSender, kind: SlotKind): (() => void) | Promise<() => void>;
}

export type SlotKind = 'reads' | 'writes';

/** Levels do not share slots: an administrator is served whatever the others do. */
export type Level = 'administrators' | 'users' | 'anonymous';

export interface LevelledSender extends Sender {
  readonly level: Level;
}

export function levelOf(user: UserInfo): Level {
  if (user === ANONYMOUS) return 'anonymous';
  return user.groups.includes('system:masters') ? 'administrators' : 'users';
}

export interface SlotLimits {
  readonly reads: number;
  readonly writes: number;
}

/** Clients without credentials may only ask for health and version. */
const ANONYMOUS_SLOTS: SlotLimits = { reads: 20, writes: 1 };
/** The queue of a connection holds as many requests as an HTTP/2 connection may have streams. */
const QUEUE_LENGTH = 1_000;
export const RETRY_AFTER_SECONDS = 1;

export function createRequestSlots(clock: Clock, limits: SlotLimits, waitMs: number): RequestSlots {
  const poolsOf = ({ reads, writes }: SlotLimits) => ({
    reads: createPool(clock, reads, waitMs),
    writes: createPool(clock, writes, waitMs),
  });
  const pools: Readonly<Record<Level, ReturnType<typeof poolsOf>>> = {
    administrators: poolsOf(limits),
    users: poolsOf(limits),
    anonymous: poolsOf(ANONYMOUS_SLOTS),
  };
  return { enter: (sender, kind) => pools[sender.level][kind].enter(sender) };
}

interface Waiting {
  go(leave: () => void): void;
}

function createPool(clock: Clock, limit: number, waitMs: number) {
  const perUser = Math.ceil(limit / 2);
  const perConnection = Math.ceil(limit / 4);
  const queue: FairQueue<Waiting> = createFairQueue();
  const byUser = createCounter<string>();
  const byConnection = createCounter<object>();
  const waitingOf = createCounter<object>();
  let used = 0;

  const isFree = ({ user, connection }: Sender) =>
    used < limit && byUser.of(user) < perUser && byConnection.of(connection) < perConnection;

  const take = ({ user, connection }: Sender): (() => void) => {
    used += 1;
    byUser.add(user, 1);
    byConnection.add(connection, 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      used -= 1;
      byUser.add(user, -1);
      byConnection.add(connection, -1);
      while (queue.size > 0) {
        let next: Sender | undefined;
        const waiting = queue.shift((sender) => {
          next = sender;
          return isFree(sender);
        });
        if (!waiting || !next) return;
        waiting.go(take(next));
      }
    };
  };

  return {
    enter(sender: Sender): (() => void) | Promise<() => void> {
      if (isFree(sender)) return take(sender);
      const { connection } = sender;
      if (waitingOf.of(connection) >= QUEUE_LENGTH) return Promise.reject(tooManyRequests(RETRY_AFTER_SECONDS));
      return new Promise((resolve, reject) => {
        waitingOf.add(connection, 1);
        const timer: Timer = clock.after(waitMs, () => {
          queue.remove(sender, waiting);
          waitingOf.add(connection, -1);
          reject(tooManyRequests(RETRY_AFTER_SECONDS));
        });
        const waiting: Waiting = {
          go(leave) {
            timer.cancel();
            waitingOf.add(connection, -1);
            resolve(leave);
          },
        };
        queue.push(sender, waiting);
      });
    },
  };
}

/** Requirements of a selector that count as one watch more: each is evaluated at every change. */
const TERMS_OF_A_WATCH = 10;

/** Returns how many watches one counts for. */
export function weightOfWatch({ labelSelector = '', fieldSelector = '' }: Readonly<Record<string, string>>): number {
  const terms = labelSelector.split(',').length + fieldSelector.split(',').length - 2;
  return 1 + Math.floor(terms / TERMS_OF_A_WATCH);
}

/** Watches that users have open, which hold no slots of requests. */
export function createWatchSlots(perUser: number) {
  const byUser = createCounter<string>();
  return {
    /** Counts a watch by its weight, until the function that is returned is called; throws TooManyRequests where the user has too many. */
    open({ user }: Sender, weight = 1): () => void {
      if (byUser.of(user) >= perUser) throw tooManyRequests(RETRY_AFTER_SECONDS);
      byUser.add(user, weight);
      let isOpen = true;
      return () => {
        if (isOpen) byUser.add(user, -weight);
        isOpen = false;
      };
    },
  };
}

/** Counts by key, and forgets keys whose count is zero. */
export function createCounter<K>() {
  const counts = new Map<K, number>();
  return {
    of: (key: K): number => counts.get(key) ?? 0,
    add(key: K, change: number): void {
      const count = (counts.get(key) ?? 0) + change;
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    },
  };
}
