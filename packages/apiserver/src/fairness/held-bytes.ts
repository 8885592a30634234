import { createFairQueue } from './fair-queue.ts';
import { createCounter, type Level, type LevelledSender } from './request-slots.ts';

/** Memory that clients occupy: bodies that are still arriving, or answers that have yet to be read. */
export interface HeldBytes {
  /** Counts bytes, which may be negative, against the sender's connection, user and level. */
  add(sender: LevelledSender, bytes: number): void;
  hasRoom(sender: LevelledSender): boolean;
  /** Undefined: there is room. Otherwise a promise that resolves when there is. */
  room(sender: LevelledSender): Promise<void> | undefined;
}

export interface ByteLimits {
  readonly connection: number;
  readonly user: number;
  /** The sum of all users of a level. */
  readonly level: number;
}

/** A sender at its limit may still exceed it by one item, so that an item larger than the limit passes too. */
export function createHeldBytes({ connection, user, level }: ByteLimits): HeldBytes {
  const byConnection = createCounter<object>();
  const byUser = createCounter<string>();
  const byLevel = createCounter<Level>();
  const waiting = createFairQueue<() => void, LevelledSender>();
  let isReleasing = false;

  const hasRoom = (sender: LevelledSender) =>
    byConnection.of(sender.connection) < connection &&
    byUser.of(sender.user) < user &&
    byLevel.of(sender.level) < level;

  /** One in a turn of the event loop: by then the bytes of the one before are counted. */
  const release = () => {
    const next = waiting.shift(hasRoom);
    isReleasing = next !== undefined && waiting.size > 0;
    next?.();
    if (isReleasing) setImmediate(release);
  };

  return {
    hasRoom,
    add(sender, bytes) {
      byConnection.add(sender.connection, bytes);
      byUser.add(sender.user, bytes);
      byLevel.add(sender.level, bytes);
      if (bytes > 0 || waiting.size === 0 || isReleasing) return;
      isReleasing = true;
      setImmediate(release);
    },
    room(sender) {
      return hasRoom(sender) ? undefined : new Promise((resolve) => waiting.push(sender, resolve));
    },
  };
}
