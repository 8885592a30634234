export { formatTraceparent, parseTraceparent } from './trace-context.ts';
export * from './traced-transport.ts';
export * from './tracer.ts';
export * from './tracing.ts';
