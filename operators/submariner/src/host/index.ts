export * from './errors.ts';
export * from './host.ts';
export * from './step.ts';
