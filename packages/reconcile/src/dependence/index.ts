export * from './change-feed.ts';
export * from './object-graph.ts';
export * from './root-causes.ts';
export * from './runtime-causes.ts';
