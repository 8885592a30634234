// The promises of the server: every answer that a client got, and every event that a watcher saw. They are checked after each crash.
import type { UnknownObject } from '@capstan/kube';
import { equalJson } from '../json/copy.ts';

export interface Ledger {
  /** A write is on its way: until it is answered, both outcomes are right. */
  sent(key: string, outcome: string | undefined): void;
  /** It was acknowledged: data of the object (undefined: deleted), under this revision (unknown for a deletion). */
  acknowledged(key: string, outcome: string | undefined, revision: number | undefined): void;
  /** It was refused, so nothing has happened. */
  refused(key: string): void;
  /** A watcher was shown it. */
  seen(type: string, object: UnknownObject): void;
  /** Returns the problems of the state after a restart, and settles the ambiguous writes by it. */
  check(revision: number, objects: readonly UnknownObject[]): string[];
  /** Returns the problems of the past, as a watch from `since` replays it. */
  checkPast(since: number, events: readonly { type: string; object: UnknownObject }[]): string[];
  /** Resolves once that many writes have been acknowledged. */
  reaches(writes: number): Promise<void>;
  /** The highest revision that any client has seen. */
  readonly highest: number;
  readonly writes: number;
  readonly problems: readonly string[];
}

export function createLedger(): Ledger {
  const promised = new Map<string, string>();
  const pending = new Map<string, string | undefined>();
  const past = new Map<number, { type: string; object: UnknownObject }>();
  const problems: string[] = [];
  let highest = 0;
  let floor = 0;
  let writes = 0;
  let waiting: { writes: number; resolve: () => void } | undefined;

  return {
    get highest() {
      return highest;
    },
    get writes() {
      return writes;
    },
    problems,
    reaches: (wanted) =>
      new Promise((resolve) => {
        waiting = { writes: wanted, resolve };
      }),
    sent: (key, outcome) => void pending.set(key, outcome),
    refused: (key) => void pending.delete(key),
    acknowledged(key, outcome, revision) {
      pending.delete(key);
      writes += 1;
      if (waiting && writes >= waiting.writes) waiting.resolve();
      if (outcome === undefined) promised.delete(key);
      else promised.set(key, outcome);
      if (revision === undefined) return;
      if (revision <= floor)
        problems.push(`revision ${revision} was given again: ${floor} had been seen before the restart`);
      highest = Math.max(highest, revision);
    },
    seen(type, object) {
      const revision = Number(object.metadata.resourceVersion);
      const before = past.get(revision);
      if (before && (before.type !== type || !equalJson(before.object, object))) {
        problems.push(`revision ${revision} was shown twice, and differently`);
      }
      past.set(revision, { type, object });
      highest = Math.max(highest, revision);
    },
    check(revision, objects) {
      const wrong: string[] = [];
      if (revision < highest) wrong.push(`the server is back at revision ${revision}, and ${highest} had been seen`);
      const found = new Map(objects.map((object) => [object.metadata.name ?? '', textOf(object)]));
      for (const key of new Set([...promised.keys(), ...found.keys(), ...pending.keys()])) {
        const [now, before] = [found.get(key), promised.get(key)];
        if (now === before || (pending.has(key) && now === pending.get(key))) continue;
        wrong.push(`${key} should be ${before ?? 'absent'} and is ${now ?? 'absent'}`);
      }
      promised.clear();
      for (const [key, text] of found) promised.set(key, text);
      pending.clear();
      floor = highest;
      return wrong;
    },
    checkPast(since, events) {
      const seen = new Map(events.map((event) => [Number(event.object.metadata.resourceVersion), event]));
      const wrong: string[] = [];
      for (const [revision, { type, object }] of past) {
        if (revision <= since) {
          past.delete(revision);
          continue;
        }
        const again = seen.get(revision);
        if (!again) wrong.push(`a watcher had seen revision ${revision}, and it is gone`);
        else if (again.type !== type || !equalJson(again.object, object)) {
          wrong.push(`a watcher had seen another revision ${revision}`);
        }
      }
      return wrong;
    },
  };
}

/** The part of an object that a writer sets. */
export function textOf(object: UnknownObject): string {
  const { data } = object as { data?: { value?: string } };
  return data?.value ?? '';
}
