import type { Graph } from './model.ts';

/** Something waits for the next wave; whoever drives the engine is told once. */
export function requestWave(graph: Graph): void {
  if (graph.pending) return;
  graph.pending = true;
  graph.onPending?.();
}
