/** The sender of a request, as far as sharing is concerned. */
export interface Sender {
  readonly user: string;
  /** Identifies the connection. */
  readonly connection: object;
}

export interface FairQueue<T, S extends Sender = Sender> {
  readonly size: number;
  push(sender: S, item: T): void;
  /** Takes the next item: the users take turns, and so do the connections of a user. Skips senders that may not have one now. */
  shift(mayTake?: (sender: S) => boolean): T | undefined;
  /** Removes an item that is no longer wanted. */
  remove(sender: S, item: T): void;
}

interface Line<T, S> {
  readonly sender: S;
  readonly items: T[];
}

/** A queue in which neither a user with many connections nor a connection with many requests delays the others. */
export function createFairQueue<T, S extends Sender = Sender>(): FairQueue<T, S> {
  // Maps keep their order: the one that was served goes to the end.
  const users = new Map<string, Map<object, Line<T, S>>>();
  let size = 0;

  const drop = (user: string, lines: Map<object, Line<T, S>>, line: Line<T, S>) => {
    if (line.items.length > 0) return;
    lines.delete(line.sender.connection);
    if (lines.size === 0) users.delete(user);
  };

  return {
    get size() {
      return size;
    },
    push(sender, item) {
      const lines = users.get(sender.user) ?? new Map<object, Line<T, S>>();
      users.set(sender.user, lines);
      const line = lines.get(sender.connection) ?? { sender, items: [] };
      lines.set(sender.connection, line);
      line.items.push(item);
      size += 1;
    },
    shift(mayTake = () => true) {
      for (const [user, lines] of users) {
        for (const [connection, line] of lines) {
          if (!mayTake(line.sender)) continue;
          const item = line.items.shift();
          size -= 1;
          lines.delete(connection);
          lines.set(connection, line);
          users.delete(user);
          users.set(user, lines);
          drop(user, lines, line);
          return item;
        }
      }
      return undefined;
    },
    remove(sender, item) {
      const lines = users.get(sender.user);
      const line = lines?.get(sender.connection);
      const index = line?.items.indexOf(item) ?? -1;
      if (!lines || !line || index < 0) return;
      line.items.splice(index, 1);
      size -= 1;
      drop(sender.user, lines, line);
    },
  };
}
