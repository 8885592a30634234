// A run within a replay. A function that reads secret data is not run: the history holds its result, and its reads.
import type { Table } from '../engine-types.ts';
import { type Graph, IS_SUSPENDED, type Node, type RunFrame } from '../graph/model.ts';
import { attemptRun } from './run.ts';

export function attemptReplayed(graph: Graph, node: Node, attempt: (graph: Graph, node: Node) => RunFrame): RunFrame {
  const recorded = graph.replay?.outcome(node);
  if (recorded === undefined) return attempt(graph, node);
  const { outcome, reads } = recorded;
  const run = attemptRun(graph, node, (_key, tracker) => {
    // Its reads stay alive, and `why` shows them.
    for (const read of reads) {
      if (read.sort === 'object') {
        const state = graph.tables.find(({ name }) => name === read.name);
        if (state !== undefined) tracker.state({ state } as unknown as Table<unknown>, read.key);
      } else {
        const found = graph.derivations.find(({ name, owner }) => name === read.name && owner === read.owner);
        if (found !== undefined) tracker.settled(found, read.key);
      }
    }
    if (outcome.state === 'error') throw new Error(outcome.message);
    return outcome.state === 'value' ? outcome.value : undefined;
  });
  if (outcome.state !== 'suspended' || run.restart) return run;
  return Object.assign(run, { resultState: IS_SUSPENDED, result: outcome.waitingFor });
}
