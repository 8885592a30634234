export { type Binding } from './binding.ts';
export * from './evaluate.ts';
export * from './runtime.ts';
export type { SinkObserver } from './sink.ts';
