export * from './broker.ts';
export * from './cable-policies.ts';
export * from './cluster.ts';
export * from './endpoint.ts';
export * from './gateway.ts';
export * from './group.ts';
export * from './submariner.ts';
