export { createEngine } from './engine.ts';
export type * from './engine-types.ts';
export { EngineError, Suspended } from './errors.ts';
export { aside, type FieldsProjection, fields, telling, unrecorded } from './projection.ts';
export type { Selector, SelectorTerm, Where } from './where.ts';
