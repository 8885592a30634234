// The state by which two histories are compared: the objects of a cluster without the values that differ between any two runs.
import { diff, equal, type Kind, type KubeObject, keyOfObject, kindId } from '@capstan/kube';
import type { TestCluster } from '../cluster.ts';

/** By kind and key. */
export type State = ReadonlyMap<string, unknown>;

/** Annotations and labels that depend on identities, times or the order of events can be named besides those of the runtime. */
export async function stateOf(
  cluster: TestCluster,
  kinds: readonly Kind[],
  volatile: readonly string[] = [],
): Promise<State> {
  const dropped = new Set([...VOLATILE, ...volatile]);
  const state = new Map<string, unknown>();
  for (const kind of kinds) {
    const { items } = await cluster.client.list(kind);
    for (const object of items) state.set(`${kindId(kind)} ${keyOfObject(object)}`, normalised(object, dropped));
  }
  return state;
}

/** Returns a sentence for each missing, different or additional object. */
export function differences(expected: State, actual: State): string[] {
  const problems: string[] = [];
  for (const [id, object] of expected) {
    if (!actual.has(id)) problems.push(`${id} is missing`);
    else if (!equal(object, actual.get(id))) {
      const paths = diff(object, actual.get(id), 5);
      problems.push(
        `${id} differs at ${paths.join(', ')}: expected ${JSON.stringify(object)}, found ${JSON.stringify(actual.get(id))}`,
      );
    }
  }
  for (const id of actual.keys()) if (!expected.has(id)) problems.push(`${id} is left over`);
  return problems;
}

/** Removes the values that differ between any two histories: identities, versions, times, and causes that depend on the order of events. */
function normalised(object: KubeObject, dropped: ReadonlySet<string>): unknown {
  const {
    uid: _uid,
    resourceVersion: _version,
    generation: _generation,
    creationTimestamp: _created,
    managedFields: _fields,
    annotations = {},
    labels = {},
    ownerReferences,
    ...metadata
  } = object.metadata;
  const kept = (of: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(of).filter(([name]) => !dropped.has(name)));
  const owners = ownerReferences?.map(({ uid: _owner, ...reference }) => reference);
  const { status, ...rest } = object as KubeObject & { status?: { conditions?: object[] } };
  const conditions = status?.conditions?.map((condition) => ({
    ...condition,
    lastTransitionTime: undefined,
    observedGeneration: undefined,
  }));
  // A condition that held for a while and went leaves an empty list, or an empty status.
  const shown = conditions === undefined || conditions.length === 0 ? undefined : conditions;
  const reported = { ...status, observedGeneration: undefined, conditions: shown };
  const isEmpty = Object.values(reported).every((value) => value === undefined);
  return {
    ...rest,
    metadata: { ...metadata, annotations: kept(annotations), labels: kept(labels), owners },
    status: isEmpty ? undefined : reported,
  };
}

const VOLATILE = new Set([
  'capstan.dev/cause',
  'capstan.dev/rolled',
  'capstan.dev/applied',
  'capstan.dev/template-history',
  'capstan.dev/held',
]);
