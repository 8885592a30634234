// Delivers batches to subscribers so that each sees every change exactly once and in order. Meanwhile, a subscriber may subscribe others,
// unsubscribe, or cause further changes. Changes that occur during a delivery wait in a queue. A subscriber that joins meanwhile gets the
// current content, which includes the queued changes, and then only batches that were created after it joined.

export interface Publisher<E> {
  publish(events: readonly E[]): void;
  /** `current` creates the first batch: the state that a listener from the beginning would know. */
  subscribe(listener: Listener<E>, current: () => readonly E[]): () => void;
}

export type Listener<E> = (events: readonly E[]) => void;

/** A listener that throws is reported to `onError`; the others are served all the same. */
export function createPublisher<E>(onError: (error: unknown) => void): Publisher<E> {
  const subscribers = new Set<Subscriber<E>>();
  const queue: { number: number; events: readonly E[] }[] = [];
  let published = 0;
  let isHandingOut = false;

  function deliver(listener: Listener<E>, events: readonly E[]): void {
    try {
      listener(events);
    } catch (error) {
      onError(error);
    }
  }

  function drain(): void {
    for (let batch = queue.shift(); batch; batch = queue.shift()) {
      // A set may be changed while it is walked: who leaves is not served, who joins has the batch already.
      for (const subscriber of subscribers) {
        if (subscriber.joinedAfter < batch.number) deliver(subscriber.listener, batch.events);
      }
    }
  }

  function exclusively(work: () => void): void {
    const isOuter = !isHandingOut;
    isHandingOut = true;
    try {
      work();
      if (isOuter) drain();
    } finally {
      if (isOuter) isHandingOut = false;
    }
  }

  return {
    publish(events) {
      if (events.length === 0) return;
      published++;
      queue.push({ number: published, events });
      if (!isHandingOut) exclusively(() => {});
    },
    subscribe(listener, current) {
      const subscriber = { listener, joinedAfter: published };
      subscribers.add(subscriber);
      exclusively(() => {
        const events = current();
        if (events.length > 0) deliver(listener, events);
      });
      return () => {
        subscribers.delete(subscriber);
      };
    },
  };
}

interface Subscriber<E> {
  readonly listener: Listener<E>;
  readonly joinedAfter: number;
}
