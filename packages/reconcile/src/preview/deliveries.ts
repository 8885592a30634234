// What the sinks of operators would deliver, if a change were made.
import { equal } from '@capstan/kube/cluster';
import type { Change, Fork, Settled } from '../engine/index.ts';
import { unmarked } from '../read/world-reader.ts';
import type { SinkBinding } from '../runtime/parts.ts';
import type { Runtime } from '../runtime/runtime.ts';

export interface PreviewDelivery {
  /** `operator.sink`, with `@world` where worlds have names. */
  readonly by: string;
  readonly key: string;
  readonly change: 'added' | 'changed' | 'removed';
  /** What it does to running things: `drains a listener`. */
  readonly disturbs?: string;
}

export function previewDeliveries(runtime: Runtime, fork: Fork): readonly PreviewDelivery[] {
  const changes = fork.evaluate();
  return runtime.sinks.flatMap((binding) => {
    const values = changedValues(binding, changes, runtime, fork);
    return [...values]
      .filter(([, { before, after }]) => !equal(before, after))
      .map(([key, { before, after }]): PreviewDelivery => {
        const disturbs = binding.sink.disturbs?.({ key, before, after });
        const change = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
        return { by: binding.id, key, change, ...(disturbs === undefined ? {} : { disturbs }) };
      })
      .toSorted((left, right) => (left.key < right.key ? -1 : 1));
  });
}

interface Values {
  readonly before: unknown;
  readonly after: unknown;
}

function changedValues(
  { derivation, keys }: SinkBinding,
  changes: readonly Change[],
  { engine }: Runtime,
  fork: Fork,
): ReadonlyMap<string, Values> {
  const values = new Map<string, Values>();
  /** By key: how many more or fewer name it. */
  const moves = new Map<string, number>();
  const move = (settled: Settled<unknown> | undefined, by: 1 | -1) => {
    for (const key of (valueOf(settled) as readonly string[] | undefined) ?? [])
      moves.set(key, (moves.get(key) ?? 0) + by);
  };
  for (const change of changes) {
    if (keys.derivations.includes(change.derivation)) {
      // What cannot be evaluated names what it named before.
      if (change.after !== undefined && change.after.state !== 'value') continue;
      if (!Array.isArray(valueOf(change.before) ?? valueOf(change.after))) continue;
      move(change.before, -1);
      move(change.after, 1);
    } else if (change.derivation === derivation && (change.after === undefined || change.after.state === 'value'))
      values.set(change.key, { before: valueOf(change.before), after: valueOf(change.after) });
  }
  for (const [key, by] of moves) {
    const before = valueOf(engine.valueOf(derivation, key));
    if (keys.named(key) + by <= 0) values.set(key, { before, after: undefined });
    else if (before === undefined) values.set(key, { before, after: valueOf(fork.evaluateKey(derivation, key)) });
  }
  return values;
}

function valueOf(settled: Settled<unknown> | undefined): unknown {
  return settled?.state === 'value' ? unmarked(settled.value) : undefined;
}
