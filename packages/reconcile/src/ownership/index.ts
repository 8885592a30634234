export * from './decide.ts';
export * from './provenance.ts';
export * from './set-by.ts';
export * from './standing.ts';
