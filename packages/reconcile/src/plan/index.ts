export * from './child.ts';
export * from './conditions.ts';
export * from './others.ts';
export { inWorld, placeOf } from './place.ts';
export * from './plan.ts';
export { drop, type StatusInput, timeOfWrite } from './status.ts';
