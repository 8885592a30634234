import type { Part } from '../bench.ts';
export const pairs: Part = { name: 'pairs', summary: 'todo', measure: () => Promise.resolve([]) };
