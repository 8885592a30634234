// One service that every proxy uses: the cost of an edit of it, and of its deletion, which concerns all of them.
import { systemClock } from '@capstan/kube';
import { createEngine, type Engine } from '@capstan/reconcile';
import { buildIngressGraph, type IngressGraph } from '../ingress-graph.ts';
import { heapAfterGc } from '../measure/heap.ts';
import { type Result, result } from '../measure/result.ts';
import { milliseconds, rounds } from '../measure/timing.ts';
import { checkOutputs } from './ingress-check.ts';

export function measureHub(size: number, count: number): Result[] {
  const engine = createEngine({ clock: systemClock });
  const graph = buildIngressGraph(engine, size, { hub: true });
  engine.flushSync();
  once(engine, graph, 'endpoint', count + 1);
  const endpoint = rounds(count, (round) => once(engine, graph, 'endpoint', round + 1));
  once(engine, graph, 'serviceDelete', 0);
  checkOutputs(engine, graph, { hub: true });
  once(engine, graph, 'servicePut', 0);
  const deleted = rounds(count, () => {
    const measured = once(engine, graph, 'serviceDelete', 0);
    once(engine, graph, 'servicePut', 0);
    return measured;
  });
  const at = `ingress ${size}: a service that all proxies use`;
  return [
    result({
      name: `${at}, endpoint edit`,
      unit: 'ms',
      rounds: endpoint.map(({ ms }) => ms),
      note: `${endpoint[0]?.runs} runs`,
    }),
    result({
      name: `${at}, deleted`,
      unit: 'ms',
      rounds: deleted.map(({ ms }) => ms),
      note: `${deleted[0]?.runs} runs; as one flush without yielding`,
    }),
  ];
}

function once(
  engine: Engine,
  graph: IngressGraph,
  edit: 'endpoint' | 'serviceDelete' | 'servicePut',
  version: number,
): { ms: number; runs: number } {
  heapAfterGc();
  graph.edit[edit](0, version);
  let runs = 0;
  const ms = milliseconds(() => {
    runs = engine.flushSync().runs;
  });
  return { ms, runs };
}
