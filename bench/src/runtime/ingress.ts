import type { Part } from '../bench.ts';
export const ingress: Part = { name: 'ingress', summary: 'todo', measure: () => Promise.resolve([]) };
