// The parts for a small program that runs many times: the definitions of an operator's parts and the runtime. The manager, health, metrics
// and previews are not here.
export {
  createLabelledChildren,
  createStatusReport,
  type LabelledAction,
  type LabelledChild,
  type LabelledChildren,
  type LabelledDefinition,
  type Obstacle,
  type Wanted,
} from './labelled/index.ts';
export { type Operator, operator } from './operator.ts';
export { type DerivationDefinition, derivation } from './read/derivation.ts';
export { type FactDefinition, fact } from './read/fact.ts';
export { index, type KindIndex } from './read/kind-index.ts';
export type { Reader, WatchProblem } from './read/reader.ts';
export { type SourceDefinition, type SourceTable, source } from './read/source.ts';
export { reading } from './reconciler.ts';
export { createRuntime } from './runtime/runtime.ts';
export { type Runtime } from './runtime/runtime-types.ts';
export { type Sink, type SinkBatch, type SinkContext, type SinkSession, sink } from './sinks/sink.ts';
