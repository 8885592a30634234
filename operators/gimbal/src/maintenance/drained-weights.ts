// A second copy of the weights that maintenance stored on routes, by backend: a ConfigMap beside the backend. Annotations may be removed
// while the operator is down; then only the copy has the original weights.
import { ConfigMap, type KubeObject, refOfKey } from '@capstan/kube';
import { type AggregateDefinition, derivation, fold, type Reader } from '@capstan/reconcile';
import { backendNamed } from '../backend/backend.ts';
import type { RouteState, RouteStates } from './route-state.ts';
import type { RouteKind } from './routes/index.ts';

/** Annotations by the name of the route in a ConfigMap's data. */
export type DrainedWeights = Readonly<Record<string, string>>;

/** A ConfigMap has at most 1 MiB. Routes beyond that have no second copy. */
const MOST_BYTES = 900_000;

export const drainedWeightsRef = (namespace: string, backend: string) => ({
  namespace,
  name: `${backend}-drained-weights`,
});

/** A route as a key in a ConfigMap's data. */
const nameOfRoute = (id: string, key: string) => {
  const { namespace = '', name } = refOfKey(key);
  return `${id}.${namespace}.${name}`;
};

/** By the name of the backend. */
export function createDrainedWeights(all: readonly { routes: RouteKind; states: RouteStates }[]) {
  const folds = all.map(({ routes, states }) => ({ routes, weights: weightsOf(routes, states) }));
  return derivation({
    name: 'drained weights of a backend',
    compute({ key: backend, read }): DrainedWeights {
      const found = folds.flatMap(({ routes: { kind, newer }, weights }) => {
        if (newer !== undefined && read.access(newer) !== 'not-served') return [];
        return read.access(kind) === 'served' ? Object.entries(read.derived(weights, '')[backend] ?? {}) : [];
      });
      let left = MOST_BYTES;
      return Object.fromEntries(
        found
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .filter(([name, text]) => (left -= name.length + Buffer.byteLength(text)) >= 0),
      );
    },
  });
}
export type DrainedWeightsOf = ReturnType<typeof createDrainedWeights>;

type ByBackend = Readonly<Record<string, DrainedWeights>>;

function weightsOf({ kind, id }: RouteKind, states: RouteStates): AggregateDefinition<ByBackend> {
  const put = (sums: Map<string, Map<string, string>>, member: string, { stored }: RouteState, by: 1 | -1) => {
    for (const backend of stored?.backends ?? []) {
      const sum = sums.get(backend) ?? new Map<string, string>();
      sums.set(backend, sum);
      if (by === 1) sum.set(member, stored?.text ?? '');
      else sum.delete(member);
      if (sum.size === 0) sums.delete(backend);
    }
  };
  return fold<KubeObject, RouteState, Map<string, Map<string, string>>, ByBackend>({
    name: `drained weights in ${id}`,
    kind,
    part: states,
    empty: () => new Map(),
    put(sums, member, part, previous) {
      if (previous !== undefined) put(sums, member, previous, -1);
      put(sums, member, part, 1);
    },
    remove: (sums, member, part) => put(sums, member, part, -1),
    result: (sums) =>
      Object.fromEntries(
        [...sums].map(([backend, sum]) => [
          backend,
          Object.fromEntries([...sum].map(([member, text]) => [nameOfRoute(id, member), text])),
        ]),
      ),
    clone: (sums) => new Map([...sums].map(([backend, sum]) => [backend, new Map(sum)])),
  });
}

/** Returns the copy of a route's stored weights for these backends. */
export function copyOf(read: Reader, id: string, key: string, backends: Iterable<string>): string | undefined {
  const name = nameOfRoute(id, key);
  for (const backend of backends) {
    const found = read.derived(backendNamed, backend);
    if (found === undefined) continue;
    const ref = drainedWeightsRef(found.ref.namespace ?? '', backend);
    const text = read.get(ConfigMap, ref, ({ data }: ConfigMap) => data?.[name]);
    if (text !== undefined) return text;
  }
  return undefined;
}
