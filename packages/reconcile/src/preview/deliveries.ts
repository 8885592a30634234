// The deliveries of operators' sinks, if a change were made.
import { equal, type ValueChange } from '@capstan/kube/cluster';
import type { Change, Fork, Settled } from '../engine/index.ts';
import { guardedOr } from '../guard.ts';
import { unmarked } from '../read/engine-projections.ts';
import type { SinkBinding } from '../runtime/parts.ts';
import type { Runtime } from '../runtime/runtime-types.ts';
import type { Sink, SinkChange, SinkEffect, SinkModels } from '../sinks/index.ts';

export interface PreviewDelivery {
  /** `operator.sink`, with `@world` where worlds have names. */
  readonly by: string;
  /** The key, or the sink's name for it. */
  readonly key: string;
  readonly change: 'added' | 'changed' | 'removed';
  /** The values that change, where the sink shows them. */
  readonly changes?: readonly ValueChange[];
  /** Its effect on running things: `drains a listener`. */
  readonly disturbs?: string;
}

export function previewDeliveries(runtime: Runtime, fork: Fork): readonly PreviewDelivery[] {
  const changes = fork.evaluate();
  return runtime.sinks.flatMap((binding) => {
    const changed = [...changedValues(binding, changes, runtime, fork)]
      .filter(([, { before, after }]) => !equal(before, after))
      .map(([key, values]): SinkChange<unknown> => ({ key, ...values }))
      .toSorted((left, right) => (left.key < right.key ? -1 : 1));
    return deliveriesOf(binding, changed, binding.current(), modelsOf(binding, runtime, fork));
  });
}

/** Evaluates models in the fork of the preview, and in one without changes. */
function modelsOf({ model }: SinkBinding, { engine }: Runtime, fork: Fork): SinkModels | undefined {
  if (!model) return undefined;
  const present = engine.fork();
  return {
    before: (key) => valueOf(present.evaluateKey(model, key)),
    after: (key) => valueOf(fork.evaluateKey(model, key)),
  };
}

/** Changes of the values of a sink as a preview shows them; `current` is every value before. */
export function deliveriesOf(
  { sink, id: by }: Pick<SinkBinding, 'sink' | 'id'>,
  changed: readonly SinkChange<unknown>[],
  current: ReturnType<SinkBinding['current']>,
  models?: SinkModels,
): PreviewDelivery[] {
  if (changed.length === 0) return [];
  const effects = effectsOf(sink, changed, current, models) ?? changed.map((change) => effectOf(change, sink));
  return effects.map(
    ({ what, disturbs, ...effect }): PreviewDelivery => ({
      by,
      key: what,
      ...effect,
      ...(disturbs === undefined ? {} : { disturbs }),
    }),
  );
}

/** Returns the sink's own names for the changes; if that fails, each key is one change. */
function effectsOf(
  sink: Sink,
  changed: readonly SinkChange<unknown>[],
  current: ReturnType<SinkBinding['current']>,
  models: SinkModels | undefined,
): readonly SinkEffect[] | undefined {
  const what = `effects of the sink ${sink.name}`;
  return guardedOr(
    what,
    () => sink.effects?.(changed, current, models),
    (error) => changed.map((change) => ({ ...effectOf(change, sink), disturbs: `not known: ${error.message}` })),
  );
}

function effectOf(change: SinkChange<unknown>, sink: Sink): SinkEffect {
  const { key, before, after } = change;
  return {
    what: key,
    change: before === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
    disturbs: guardedOr(
      `disturbs of the sink ${sink.name}`,
      () => sink.disturbs?.(change),
      (error) => `not known: ${error.message}`,
    ),
  };
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
      // A key that cannot be evaluated keeps its former names.
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
