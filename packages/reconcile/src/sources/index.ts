export * from './facts.ts';
export * from './instants.ts';
export * from './known.ts';
export * from './open-sources.ts';
