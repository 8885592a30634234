import type { Part } from '../bench.ts';
export const lists: Part = { name: 'lists', summary: 'todo', measure: () => Promise.resolve([]) };
