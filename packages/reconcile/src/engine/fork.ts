import type { Fork } from './engine-types.ts';
import type { Graph } from './model.ts';
export function createFork(_graph: Graph): Fork {
  throw new Error('todo');
}
