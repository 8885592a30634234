export * from './facts.ts';
export * from './instants.ts';
export * from './known-facts.ts';
