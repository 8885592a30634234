export type { ApiWriterObserver } from './api-writer.ts';
export { type Binding } from './binding.ts';
export * from './digest-key.ts';
export * from './evaluate.ts';
export * from './observers.ts';
export * from './runtime.ts';
