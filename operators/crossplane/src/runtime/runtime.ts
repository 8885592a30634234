// A runtime: the way to run packages, its kind of config, and its kind of workload. The rest of the operator knows runtimes by this
// interface alone. Another runtime is one file that creates such a value, and a line in the table of runtimes.ts (or in Settings.runtimes,
// for another owner's).
import type { BuiltinSchema, KubeObject, Service, ServiceAccount } from '@capstan/kube';
import type { ChildObject, Operator } from '@capstan/reconcile';
import type { Finding } from './finding.ts';
import type { RenderInput } from './render/render.ts';
import type { Stage } from './stages.ts';
import type { Workload } from './workload.ts';

/** Runs packages itself. `C` is its config in the normal form that it renders from. */
export interface BuiltInRuntime<C = unknown> {
  /** As `--package-runtime` calls it. */
  readonly name: string;
  readonly config: RuntimeConfigType;
  /** The workload of a revision. */
  readonly workload: Workload;
  /** Whether it can be configured by a ControllerConfig, where those are honoured. Default: no. */
  readonly takesControllerConfigs?: boolean;
  /** A config as its author wrote it, in its normal form; `schemas` are Kubernetes' own. */
  normalize(object: KubeObject, schemas: ReadonlyMap<string, BuiltinSchema>): NormalForm<C>;
  /** The config of a package without one: ControllerConfigs are laid over it. */
  readonly emptyConfig: C;
  render(input: RuntimeInput<C>): RuntimeObjects;
}

/** Leaves packages to a controller outside, which has configs of its own, of any kind. */
export interface ExternalRuntime {
  readonly name: string;
  readonly config?: undefined;
}

export type Runtime = BuiltInRuntime | ExternalRuntime;

export interface RuntimeConfigType {
  readonly kind: Operator['kinds'][number];
  /** In which references may name it. */
  readonly versions: readonly string[];
  /** In which a stage writes references to it. */
  versionOf(stage: Stage): string;
  /** The `default` config, where the cluster has none. */
  defaultConfig(stage: Stage): { metadata: { name: string }; spec: object };
}

export interface NormalForm<C> {
  /** Undefined exactly when there are errors. */
  readonly config: C | undefined;
  readonly warnings: readonly Finding[];
  readonly errors: readonly Finding[];
}

export interface RuntimeInput<C> extends Omit<RenderInput, 'config'> {
  readonly config: C;
  /** Whether the last lines of a log shall be in the status of a pod that crashed. */
  readonly keepsLastWords: boolean;
}

export interface RuntimeObjects {
  /** The workload object. */
  readonly workload: ChildObject<KubeObject>;
  /** The Service that webhooks and functions are called by. */
  readonly service: ChildObject<Service>;
  /** Undefined when the pods run as an account that another client takes care of: it is neither made nor touched. */
  readonly serviceAccount: ChildObject<ServiceAccount> | undefined;
  /** For Functions: where they are called. */
  readonly endpoint: string | undefined;
  /** The fields of the config that were overlaid, for its author. */
  readonly notes: readonly { readonly message: string }[];
}

/** Whether a runtime makes anything itself. */
export function isBuiltIn(runtime: Runtime | undefined): runtime is BuiltInRuntime {
  return runtime?.config !== undefined;
}
