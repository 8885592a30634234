export * from './errors.ts';
export * from './host.ts';
export * from './missing-programs.ts';
export * from './owned-link.ts';
export * from './step.ts';
