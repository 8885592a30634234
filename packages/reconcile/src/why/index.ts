export * from './cause.ts';
export * from './history.ts';
export * from './inputs.ts';
