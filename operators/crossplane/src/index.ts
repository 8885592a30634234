export * from './kinds/index.ts';
export { fullNameOf, parseReference, type Reference, sourceOf } from './oci/reference.ts';
export { friendlyId, toDnsLabel } from './xpkg/names.ts';
