// Root causes of a running program, from recorded reads: each node of the engine is visited once, however many objects are broken.
import type { Derivation } from '../engine/index.ts';
import type { Runtime } from '../runtime/index.ts';
import { formatObjectId, type GraphNode, type ObjectId, type ObjectRead, objectGraph } from './object-graph.ts';
import { type CauseState, type RootCauses, rootCauses } from './root-causes.ts';

/** An object that is not healthy. */
export interface ProblemObject extends ObjectId {
  readonly state: 'broken' | 'progress';
  /** The message of the condition that reports the problem: an absent object that it names is a cause. */
  readonly message: string;
}

export interface RuntimeCauses extends RootCauses {
  /** Absent objects that a problem names and reads, by their formatted id. */
  readonly absent: ReadonlyMap<string, ObjectId>;
}

/** Ids of the result are those of `formatObjectId`. */
export function causesFromReads(runtime: Runtime, problems: readonly ProblemObject[]): RuntimeCauses {
  const graph = objectGraph(runtime);
  const byId = new Map(problems.map((problem) => [formatObjectId(problem), problem]));
  const names = namesIn(problems);
  const absent = new Map<string, ObjectId>();
  const isNamed = new Map<string, boolean>();
  const nodes = new Map<string, GraphNode>();
  const nodeIds = new Map<Derivation<unknown>, string>();

  const nodeId = (node: GraphNode) => {
    const prefix = nodeIds.get(node.derivation) ?? `node ${nodeIds.size} `;
    nodeIds.set(node.derivation, prefix);
    const id = `${prefix}${node.key}`;
    nodes.set(id, node);
    return id;
  };

  /** The name is in the message of a problem whose plan reads the object. */
  function isMissed(read: ObjectRead, id: string): boolean {
    const name = read.key.slice(read.key.lastIndexOf('/') + 1);
    if (read.presence !== 'absent' || !names.has(name)) return false;
    const known = isNamed.get(id);
    if (known !== undefined) return known;
    const readers = graph.readersOf(read);
    const found = readers.some((reader) => {
      const problem = byId.get(formatObjectId(reader));
      return problem !== undefined && wordsOf(problem.message).includes(name);
    });
    isNamed.set(id, found);
    return found;
  }

  function* dependsOn(id: string): Generator<string> {
    const problem = byId.get(id);
    if (problem !== undefined) {
      for (const node of graph.steps.plansOf(problem)) yield nodeId(node);
      return;
    }
    const node = nodes.get(id);
    if (node === undefined) return;
    for (const step of graph.steps.readsOf(node)) {
      if ('node' in step) {
        yield nodeId(step.node);
        continue;
      }
      const { object } = step;
      const name = formatObjectId(object);
      if (byId.has(name)) yield name;
      else if (isMissed(object, name)) {
        absent.set(name, { world: object.world, kind: object.kind, key: object.key });
        yield name;
      }
    }
  }

  const stateOf = (id: string): CauseState => byId.get(id)?.state ?? (absent.has(id) ? 'absent' : undefined);
  return { ...rootCauses({ problems: byId.keys(), stateOf, dependsOn }), absent };
}

/** Every word of all messages that may be the name of an object. */
function namesIn(problems: readonly ProblemObject[]): ReadonlySet<string> {
  return new Set(problems.flatMap(({ message }) => wordsOf(message)));
}

/** Names of objects have letters, digits, dashes and dots; a dot may end the sentence too. */
function wordsOf(message: string): readonly string[] {
  return (message.match(/[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?/g) ?? []).map(String);
}
