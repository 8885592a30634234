export type { EventText, Reporter } from './event-object.ts';
export * from './recorder.ts';
