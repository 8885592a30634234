export * from './agreement.ts';
export * from './cluster-labels.ts';
export * from './decision.ts';
export * from './endpoint-offer.ts';
export * from './pair-matrix.ts';
export * from './ranking.ts';
export * from './resolver.ts';
