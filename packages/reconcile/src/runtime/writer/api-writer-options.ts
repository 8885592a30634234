// Options and observer of the API writer.
import { type Clock, type Kind, type KubeObject, type Logger } from '@capstan/kube/cluster';
import { type Turns } from '../../apply/index.ts';
import type { Engine } from '../../engine/index.ts';
import { type EventInput } from '../../plan/index.ts';
import { type QueueObserver, type WorkerObserver } from '../../queue/index.ts';
import type { Tracer } from '../../tracing/index.ts';
import { type History } from '../../why/index.ts';
import type { Binding } from './binding.ts';

export interface ApiWriterOptions {
  binding: Binding;
  engine: Engine;
  clock: Clock;
  logger: Logger;
  history: History;
  /** Lets the caches take in the written objects and evaluates again. */
  settle(): Promise<void>;
  /** Resolves when new objects have been evaluated, or after a while: serving goes before writing. */
  caughtUp(): Promise<void>;
  notify(owner: KubeObject, event: EventInput): void;
  /** Whether we lead: asked before every step, because the lease may be lost at any moment. */
  mayWrite(): boolean;
  /** The turns of all sinks: several writes to one object go out one after the other. */
  turns: Turns;
  tracer: Tracer;
  observe?: ApiWriterObserver;
}

export interface ApiWriterObserver {
  readonly queue?: QueueObserver;
  readonly workers?: WorkerObserver;
  wrote?(verb: string, kind: Kind): void;
}
