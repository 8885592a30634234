import type { Kind, KubeObject } from '@capstan/kube';
import type { Acknowledgement, ObjectId, Operator, ReportBody, Runtime } from '@capstan/reconcile';
import type { DeliveryAnswer, EventAnswer, PlanRequest, SchemaAnswer, WhatIfRequest } from '../api-types.ts';

/** The health of an object as `capstan status` reports it. */
export interface ConsoleHealth {
  readonly state: 'ready' | 'broken' | 'progress' | 'paused';
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly since?: string;
}

/** A plan that the user may apply. */
export interface ConsolePlan {
  /** As `plan` of docs/cli-output.schema.json. */
  readonly report: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** Applies the plan if planning again gives the same result. Absent where the plan has a problem. */
  apply?(signal: AbortSignal): Promise<ConsoleOutcome>;
}

/** `stale`: an input of the plan changed, and the rest of it was not written. */
export type ConsoleOutcome =
  | { readonly done: readonly { readonly id: string; readonly verb: string }[] }
  | { readonly stale: string };

/** A page that an operator declares, bound to the runtime. */
export interface ConsoleReport {
  /** `cables`, `ingress/default/edge` */
  readonly name: string;
  readonly operator: string;
  readonly title: string;
  /** Answers a question and is no page of its own. */
  readonly isQuestion: boolean;
  /** The keys that have time steps, from the body of the page itself. */
  stepKeys?(body: unknown): readonly string[];
  /** The part of the body whose changes are time steps; absent for a report without them. */
  stepOf?(body: unknown): unknown;
  /** By the rest of the path with the query; empty for the page itself. */
  body(key: string, signal: AbortSignal): Promise<ReportBody>;
  /** The same as it would be after a change. Throws CodedError for manifests that cannot be planned. */
  bodyAfter(key: string, change: WhatIfRequest, signal: AbortSignal): Promise<ReportBody>;
}

/** Everything that the console shows, passed in by the program: a package knows neither operators nor commands. */
export interface ConsoleSource {
  readonly runtime: Runtime;
  readonly operators: readonly Operator[];
  /** Whether actions are allowed. */
  readonly writes: boolean;
  readonly session: {
    readonly context: string;
    readonly version: string;
    readonly user?: string;
    /** The page shows a recording. */
    readonly isRecording?: boolean;
  };
  /** The time of the runtime, where it is not the present. */
  now?(): number;
  /** Pages of operators; a function, because instances come and go. */
  reports?(): readonly ConsoleReport[];
  /** The writes of an object, newest first, where the process that writes is this one. By default those of `runtime`, which may write none. */
  historyOf?(name: string): readonly unknown[];
  /** How far deliveries of an object are, by `SINK KEY`; those that are not in the answer are not known. */
  deliveriesOf?(
    object: ObjectId,
    keys: readonly Pick<DeliveryAnswer, 'sink' | 'key'>[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Acknowledgement>>;
  healthOf(object: KubeObject, kind: Kind): ConsoleHealth;
  /** Reads one whole object with the user's own rights; undefined where it is not there. */
  fetch(id: ObjectId, kind: Kind, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** The Events about an object, newest first; undefined where they may not be read. */
  events?(object: KubeObject, signal: AbortSignal): Promise<readonly EventAnswer[] | undefined>;
  /** The schema of a kind by `KIND.GROUP`; undefined where the cluster has none. */
  schema?(kind: string, signal: AbortSignal): Promise<SchemaAnswer | undefined>;
  /** Throws CodedError for manifests that cannot be planned. */
  plan?(request: PlanRequest, signal: AbortSignal): Promise<ConsolePlan>;
}
