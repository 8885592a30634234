// A backend that is deleted takes references to it along. The changes of maintenance are undone first, then the entries are removed, then
// the drains of the other backends are computed for the remaining entries. All of it is one write to the route.
import { equal, type KubeObject } from '@capstan/kube';
import type { FieldValue } from '@capstan/reconcile';
import { GROUP } from '../kinds/index.ts';
import type { RouteKind } from './routes/index.ts';
import { listIn, objectIn } from './routes/json.ts';
import { setField } from './set-field.ts';
import { type Shift, type ShiftInput, shiftRoute } from './shift.ts';

/** The entries that were removed from a route with a backend, for users who want them back. */
export const REMOVED_ANNOTATION = `${GROUP}/removed`;
/** Backends that are gone, while the route could not be without them. */
export const ORPHANED_ANNOTATION = `${GROUP}/orphaned`;

export interface Removal {
  readonly changes: readonly FieldValue[];
  /** For annotations; undefined: nothing to say. */
  readonly removed: string | undefined;
  readonly orphaned: string | undefined;
  /** The shift of the remaining entries. */
  readonly shift: Shift;
  readonly warnings: readonly string[];
}

export function withoutBackends(
  { rulesOf, withoutServices }: Pick<RouteKind, 'rulesOf' | 'withoutServices'>,
  route: KubeObject & { spec?: unknown },
  input: ShiftInput,
  removing: ReadonlySet<string>,
  peers: readonly KubeObject[] = [],
): Removal {
  const namespace = route.metadata.namespace ?? '';
  const original = applied(route, shiftRoute({ ...input, leavingOf: () => undefined }));
  const going = new Set(
    input.rules.flatMap(({ entries }) =>
      entries.flatMap((entry) => {
        const { service } = entry;
        const backend = input.backendOf(entry);
        const isGoing = service !== undefined && backend !== undefined && removing.has(backend);
        return isGoing ? [`${service.namespace}/${service.name}`] : [];
      }),
    ),
  );
  const reduced = withoutServices(objectIn(original.spec), (name, other = namespace) => going.has(`${other}/${name}`));
  const left = { ...original, spec: reduced.spec };
  const shift = shiftRoute({
    ...input,
    rules: rulesOf(left, peers),
    state: undefined,
    isForgotten: false,
    leavingOf: (entry, backend) => (removing.has(backend) ? undefined : input.leavingOf(entry, backend)),
  });
  const after = applied(left, shift);
  return {
    changes: specChanges(objectIn(route.spec), objectIn(after.spec)),
    removed: reduced.removed.length === 0 ? undefined : JSON.stringify(reduced.removed),
    orphaned: reduced.isOrphaned ? [...removing].toSorted().join(',') : undefined,
    shift,
    warnings: reduced.warnings,
  };
}

function applied<R extends KubeObject & { spec?: unknown }>(route: R, { changes }: Shift): R {
  return changes.reduce((object, { path, value }) => setField(object, path, value) as R, route);
}

/** Lists change as a whole: the guard on the version makes sure that no edit of another client is lost. */
function specChanges(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): FieldValue[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names]
    .filter((name) => !equal(before[name], after[name]))
    .map((name) => ({ path: `/spec/${name}`, value: after[name] }));
}

/** Joins the entries that were removed before and now: lists in JSON. A list that cannot be read is replaced. */
export function joinedRemovals(before: string | undefined, now: string | undefined): string | undefined {
  if (before === undefined || now === undefined || before === now) return now ?? before;
  try {
    const texts = new Set([before, now].flatMap((text) => listIn(JSON.parse(text))).map((one) => JSON.stringify(one)));
    return `[${[...texts].join(',')}]`;
  } catch {
    return now;
  }
}

/** Names with commas between them. */
export function joinedNames(before: string | undefined, now: string | undefined): string | undefined {
  if (before === undefined || now === undefined) return now ?? before;
  return [...new Set([...before.split(','), ...now.split(',')])].toSorted().join(',');
}
