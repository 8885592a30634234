import type { Graph } from './model.ts';

/** Something waits for the next wave; the driver of the engine is notified once. */
export function requestWave(graph: Graph): void {
  if (graph.pending) return;
  graph.pending = true;
  graph.onPending?.();
}
