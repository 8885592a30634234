// Shows an error of an author's function on the object that it failed on: as the condition `ReconcileError` where a reconciler of that kind
// is bound, else as an Event about the object. The same error is a log line and counts in a metric. The condition goes when the function no
// longer fails.
import { type Kind, type KubeObject, kindId, type Logger, reasonOf } from '@capstan/kube/cluster';
import type { Fault } from '../engine/index.ts';
import { asError } from '../guard.ts';
import type { Operator } from '../operator.ts';
import type { EventInput } from '../plan/index.ts';
import type { World, WorldSet } from '../worlds/index.ts';
import type { Binding } from './writer/binding.ts';

export interface BlameOptions {
  readonly worlds: WorldSet;
  readonly operators: readonly Operator[];
  readonly logger: Logger;
  /** Writes an Event about an object. */
  notify(world: World, operator: Operator, object: KubeObject, event: EventInput): void;
  /** Counts an error by the function that failed. */
  count(what: string): void;
}

export interface Blame {
  /** Takes a fault from the engine: a function failed on the value of a table. */
  fault(fault: Fault): void;
  /** Shows the error of a part on an object, or removes it. `part` is the name of the failed part, as in `the sink push`. */
  show(world: World, kind: Kind, key: string, part: string, error: unknown): void;
  clear(world: World, kind: Kind, key: string, part: string): void;
  /** An error that belongs to no object: a log line and the metric. */
  note(what: string, key: string, error: unknown): void;
  /** A reconciler is bound, and shows the known faults of its objects; until it is unbound. */
  bound(binding: Binding): void;
  unbound(binding: Binding): void;
}

/** The errors of one object, by the part that failed. */
interface Accused {
  readonly world: World;
  readonly kind: Kind;
  readonly key: string;
  readonly parts: Map<string, string>;
}

export function createBlame(options: BlameOptions): Blame {
  const { worlds, operators, logger } = options;
  const kinds = kindsOf(operators);
  const accused = new Map<string, Accused>();
  const bindings = new Set<Binding>();

  const isAbout = ({ world, reconciler }: Binding, one: Accused) =>
    world === one.world && kindId(reconciler.resource) === kindId(one.kind);

  function set(one: Pick<Accused, 'world' | 'kind' | 'key'>, part: string, message: string | undefined): void {
    const id = `${one.world.name} ${kindId(one.kind)} ${one.key}`;
    const known = accused.get(id) ?? { ...one, parts: new Map<string, string>() };
    if (known.parts.get(part) === message) return;
    if (message === undefined) known.parts.delete(part);
    else known.parts.set(part, message);
    if (known.parts.size === 0) accused.delete(id);
    else accused.set(id, known);
    const binding = [...bindings].find((each) => isAbout(each, known));
    if (binding !== undefined) present(binding, known);
    else if (message !== undefined) announce(known, message);
  }

  function present(binding: Binding, { key, parts }: Accused): void {
    const message = [...parts.values()].join('; ');
    binding.blame(key, message === '' ? undefined : { reason: 'Threw', message });
  }

  /** No reconciler of ours has such objects: an Event is all that can be shown on them. */
  function announce({ world, kind, key }: Accused, message: string): void {
    const object = (world.readTable(kind) ?? world.childTable(kind))?.peek(key);
    const operator = operators.find((each) => kindsIn(each).some((one) => kindId(one) === kindId(kind)));
    if (object === undefined || operator === undefined) return;
    options.notify(world, operator, object, { type: 'Warning', reason: 'FunctionFailed', note: message });
  }

  function note(what: string, key: string, error: unknown): void {
    options.count(what);
    logger.error('a function of the operator failed', { function: what, key, error: asError(error) });
  }

  function placeOf(table: string): { world: World; kind: Kind } | undefined {
    for (const world of worlds.all.values())
      for (const kind of kinds.values())
        if (world.readTable(kind)?.name === table || world.childTable(kind)?.name === table) return { world, kind };
    return undefined;
  }

  return {
    fault({ table, key, errors }) {
      for (const [what, error] of errors) note(what, `${table} ${key}`, error);
      const place = placeOf(table);
      if (place === undefined) return;
      const message = [...errors.values()].map(reasonOf).join('; ');
      set({ ...place, key }, `functions on ${table}`, message === '' ? undefined : message);
    },
    show: (world, kind, key, part, error) => set({ world, kind, key }, part, `${part}: ${reasonOf(error)}`),
    clear: (world, kind, key, part) => set({ world, kind, key }, part, undefined),
    note,
    bound(binding) {
      const isFirst = ![...bindings].some(
        ({ world, reconciler }) =>
          world === binding.world && kindId(reconciler.resource) === kindId(binding.reconciler.resource),
      );
      bindings.add(binding);
      if (isFirst) for (const one of accused.values()) if (isAbout(binding, one)) present(binding, one);
    },
    unbound: (binding) => void bindings.delete(binding),
  };
}

function kindsOf(operators: readonly Operator[]): ReadonlyMap<string, Kind> {
  return new Map(operators.flatMap(kindsIn).map((kind) => [kindId(kind), kind]));
}

function kindsIn({ reconcilers, sinks = [] }: Operator): readonly Kind[] {
  return [
    ...reconcilers.flatMap(({ resource, reads, writes }) => [
      resource,
      ...[...reads, ...writes].map(({ kind }) => kind),
    ]),
    ...sinks.flatMap(({ reads }) => reads.map(({ kind }) => kind)),
  ];
}
