export { createEngine } from './engine.ts';
export type * from './engine-types.ts';
export { EngineError, Suspended } from './graph/errors.ts';
export { aside, type FieldsProjection, fields, telling, unrecorded } from './graph/projection.ts';
export type { Selector, SelectorTerm, Where } from './graph/where.ts';
export type * from './recording.ts';
