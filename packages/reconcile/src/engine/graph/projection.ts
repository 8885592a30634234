import type { Projection } from '../engine-types.ts';

/** The parts of an object at some paths, by path: `fields('spec.ports', 'metadata.labels')`. */
export type FieldsProjection = Projection<unknown, Readonly<Record<string, unknown>>>;

/**
 * A projection that reads some paths of an object (dots between the names), and whose causes are reported from the
 * object's root. The same paths give the same function, so that readers share their comparisons.
 */
export function fields(...paths: string[]): FieldsProjection {
  const name = paths.join(',');
  let projection = interned.get(name);
  if (projection === undefined) interned.set(name, (projection = fieldsProjection(name, paths)));
  return projection;
}

/**
 * A projection whose causes are reported from another view of the value: for readers that compare something short (a generation) and should
 * report the fields behind it (the paths in the spec).
 */
export function telling<V, P>(project: Projection<V, P>, view: (value: V) => unknown): Projection<V, P> {
  return Object.assign(project, { reports: view });
}

/**
 * A projection of values that follow from the plan rather than decide it (pods that came, ReplicaSets that were created): as a cause it is
 * reported only if nothing else changed.
 */
export function aside<F extends (value: never) => unknown>(project: F): F {
  return Object.assign(project, { isAside: true as const });
}

/** A projection of values that follow from our own writes (the owner's status): never kept as an input. */
export function unrecorded<F extends (...args: never) => unknown>(project: F): F {
  return Object.assign(project, { isUnrecorded: true as const });
}

export function isUnrecorded(projection: Projection | undefined): boolean {
  return (projection as { isUnrecorded?: true } | undefined)?.isUnrecorded === true;
}

export function isAside(projection: Projection | undefined): boolean {
  return (projection as { isAside?: true } | undefined)?.isAside === true;
}

/** The view from which causes are reported; undefined for the projection's own result. */
export function reportedView(projection: Projection): ((value: unknown) => unknown) | undefined {
  return (projection as { reports?: (value: unknown) => unknown }).reports;
}

/** The paths of a projection created by `fields`. */
export function fieldPaths(projection: Projection): readonly (readonly string[])[] | undefined {
  return (projection as Partial<Fields>).paths;
}

export function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

interface Fields extends FieldsProjection {
  readonly paths: readonly (readonly string[])[];
}

// Interned for the life of the process: a pure function of its text, as many as there are calls in the sources.
const interned = new Map<string, FieldsProjection>();

function fieldsProjection(name: string, paths: readonly string[]): FieldsProjection {
  const steps = paths.map((path) => path.split('.'));
  const project: FieldsProjection = (value) => {
    const found: Record<string, unknown> = {};
    for (const [i, path] of paths.entries()) found[path] = valueAt(value, steps[i] ?? []);
    return found;
  };
  Object.defineProperty(project, 'name', { value: name });
  return Object.assign(project, { paths: steps }) satisfies Fields;
}
