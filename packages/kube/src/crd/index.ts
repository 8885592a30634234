export type { KindAlias, ResolvedAlias } from './aliases.ts';
export { checkCrd, checkCrdInSteps } from './check-crd.ts';
export { checkNames } from './check-crd-names.ts';
export { type BreakingChange, type BreakingChangeType, compareCrds, compareSchemas } from './compare-schemas.ts';
export { type CrdVersion, type PrinterColumn, pluralOf } from './crd.ts';
export * from './define-kind.ts';
export { describeKind } from './describe-kind.ts';
export { type CheckStructuralOptions, checkStructural } from './structural.ts';
export * from './with-aliases.ts';
