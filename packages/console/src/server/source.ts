import type { Kind, KubeObject } from '@capstan/kube';
import type { ObjectId, Operator, Runtime } from '@capstan/reconcile';

/** The health of an object as `capstan status` reports it. */
export interface ConsoleHealth {
  readonly state: 'ready' | 'broken' | 'progress' | 'paused';
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly since?: string;
}

/** Everything that the console shows, passed in by the program: a package knows neither operators nor commands. */
export interface ConsoleSource {
  readonly runtime: Runtime;
  readonly operators: readonly Operator[];
  /** Whether actions are allowed. */
  readonly writes: boolean;
  readonly session: { readonly context: string; readonly version: string };
  healthOf(object: KubeObject, kind: Kind): ConsoleHealth;
  /** Reads one whole object with the user's own rights; undefined where it is not there. */
  fetch(id: ObjectId, kind: Kind, signal: AbortSignal): Promise<KubeObject | undefined>;
}
