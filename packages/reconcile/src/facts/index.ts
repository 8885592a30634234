export * from './facts.ts';
export * from './instants.ts';
