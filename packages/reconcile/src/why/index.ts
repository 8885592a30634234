export * from './cause.ts';
export * from './history.ts';
