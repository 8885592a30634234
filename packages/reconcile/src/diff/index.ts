export * from './diff.ts';
export { purged, unremovable } from './exactness.ts';
export { claimsBeyond, isNamedBy } from './foreign-fields.ts';
export * from './input.ts';
export { reportedIn } from './status-diff.ts';
export * from './template-origin.ts';
export * from './writes.ts';
