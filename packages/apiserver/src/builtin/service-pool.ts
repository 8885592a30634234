/**
 * The addresses and node ports of the Services of all clusters that share a machine's loopback network. A cluster that was started alone, as in
 * earlier versions, may hold a value that another one has too, so holders are counted.
 */
export interface ServicePool {
  readonly addresses: Held<string>;
  readonly ports: Held<number>;
}

export interface Held<T> {
  has(value: T): boolean;
  take(value: T): void;
  release(value: T): void;
}

export function createServicePool(): ServicePool {
  return { addresses: createHeld(), ports: createHeld() };
}

function createHeld<T>(): Held<T> {
  const holders = new Map<T, number>();
  return {
    has: (value) => holders.has(value),
    take: (value) => void holders.set(value, (holders.get(value) ?? 0) + 1),
    release(value) {
      const left = (holders.get(value) ?? 0) - 1;
      if (left > 0) holders.set(value, left);
      else holders.delete(value);
    },
  };
}
