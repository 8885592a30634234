export * from './admission-check.ts';
export * from './capture/index.ts';
export * from './dependence/index.ts';
export { type TemplateOrigin, templateOrigin } from './diff/template-origin.ts';
export * from './digest.ts';
export {
  aside,
  type Cause,
  createEngine,
  type Derivation,
  type Engine,
  type EngineStats,
  type Explanation,
  type FoldOptions,
  fields,
  type NodeReader,
  type Presence,
  type Reading,
  type Settled,
  type Table,
  type TableChange,
  type Tracker,
  type Wave,
} from './engine/index.ts';
export * from './errors.ts';
export * from './events/index.ts';
export * from './health/index.ts';
export { FIELD_MANAGER_PREFIX, fieldManager, inventoryId, inventoryOf } from './inventory.ts';
export * from './labelled/index.ts';
export * from './leadership/index.ts';
export * from './logging/index.ts';
export * from './manager/index.ts';
export * from './marks.ts';
export * from './metrics/index.ts';
export * from './operator.ts';
export {
  type Action,
  type Adoption,
  allows,
  type Claimant,
  type ControlledByOurs,
  claimantOf,
  type Decision,
  decide,
  type Intent,
  isMarked,
  type Marked,
  type Mode,
  type Ownership,
  type Permit,
  type Provenance,
  type Ruled,
  type Standing,
  standingOf,
} from './ownership/index.ts';
export * from './plan/index.ts';
export * from './preview/index.ts';
export * from './queue/index.ts';
export * from './rbac/index.ts';
export * from './read/index.ts';
export * from './reconciler.ts';
export * from './reports/index.ts';
export * from './runtime/index.ts';
export {
  type Acknowledgement,
  type EachKeys,
  type KeySet,
  type Sink,
  type SinkBatch,
  type SinkChange,
  type SinkContext,
  type SinkDefinition,
  type SinkEffect,
  type SinkLease,
  type SinkModels,
  type SinkReader,
  type SinkResult,
  type SinkSession,
  type SinkState,
  type SinkValue,
  sink,
} from './sinks/index.ts';
export * from './sources/index.ts';
export * from './tracing/index.ts';
export * from './why/index.ts';
export { createStaticWorld, type Declaring, requirementsOf, rolesOf, type World } from './worlds/index.ts';
