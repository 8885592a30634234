export * from './digest-key.ts';
export * from './observers.ts';
export type { SinkBinding } from './parts.ts';
export * from './runtime.ts';
export * from './runtime-types.ts';
export type { ApiWriterObserver } from './writer/api-writer-options.ts';
export { type Binding } from './writer/binding.ts';
export * from './writer/evaluate.ts';
