// A route in memory that maintenance is played on, write by write, as the reconciler would.
import type { KubeObject } from '@capstan/kube';
import type { Leaving } from './drain.ts';
import type { RouteKind } from './routes/index.ts';
import { setField } from './set-field.ts';
import { annotationsOf, type Shift, type ShiftInput, shiftRoute } from './shift.ts';
import { parseState } from './stored-state.ts';

export interface Played {
  readonly route: KubeObject;
  /** The annotation. */
  readonly state: string | undefined;
  readonly shift: Shift;
}

export const away: Leaving = { keep: 0, onNoCapacity: 'Zero', promoteZero: false };

/** Services are `<backend>-<service>`; local ones begin with `local`. */
export function backendOfName(name: string): string | undefined {
  const [backend = ''] = name.split('-');
  return backend === 'local' ? undefined : backend;
}

export function play(
  { rulesOf }: Pick<RouteKind, 'rulesOf'>,
  { route, state }: { route: KubeObject; state?: string | undefined },
  leaving: Readonly<Record<string, Leaving>>,
  more: Partial<ShiftInput> = {},
): Played {
  const shift = shiftRoute({
    rules: rulesOf(route),
    state: parseState(state),
    backendOf: ({ service }) => (service === undefined ? undefined : backendOfName(service.name)),
    leavingOf: (_entry, backend) => leaving[backend],
    ...more,
  });
  const [next] = annotationsOf(shift, []);
  const after = shift.changes.reduce((object, { path, value }) => setField(object, path, value) as KubeObject, route);
  return { route: after, state: next, shift };
}
