export * from './child.ts';
export * from './conditions.ts';
export * from './others.ts';
export * from './plan.ts';
export { drop, type StatusInput } from './status.ts';
