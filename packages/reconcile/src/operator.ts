import { type Client, type Clock, type Kind, type KubeObject, kindId } from '@capstan/kube/cluster';
import type { AdmissionCheck } from './admission-check.ts';
import type { Commands } from './command-line/command.ts';
import type { Flags, FlagValues } from './command-line/flag.ts';
import { DefinitionErrors } from './errors.ts';
import type { Registry } from './metrics/registry.ts';
import { NAME, type Reconciler } from './reconciler.ts';
import type { Report } from './reports/report.ts';
import type { Sink } from './sinks/sink.ts';

export interface OperatorDefinition<F extends Flags = Flags, P extends Flags = Flags> {
  /** One lower-case word: part of field managers, leases, flags and metrics. */
  name: string;
  description?: string;
  /** The kinds that it defines; `capstan crds` prints their manifests. */
  kinds: readonly OwnedKind[];
  reconcilers: readonly Reconciler[];
  /** Field managers of programs of its own that write beside it: objects that only they wrote are the operator's own. None by default. */
  alsoWritesAs?: readonly string[];
  /** Finalizers that these programs hold on objects of its kinds: an uninstallation releases them where nothing else does. None by default. */
  alsoHolds?: readonly string[];
  /** The checks of its kinds in the admission webhook, where that is installed; none by default. */
  admission?: readonly AdmissionCheck[];
  /** Its deliveries outside the cluster; none by default. */
  sinks?: readonly Sink[];
  /** Pages about the parts that it runs, for the console; none by default. */
  reports?: readonly Report[];
  /**
   * Flags of its own: `--NAME.FLAG=VALUE` of Capstan's commands, `--FLAG=VALUE` of its own program. Their defaults are here and
   * nowhere else.
   */
  flags?: F;
  /** The same operator as its flags ask for; needed where there are flags. */
  withFlags?(values: FlagValues<F>, env: Environment): Operator;
  /**
   * The parts that run in programs of their own beside this operator, as operators that `plan` evaluates too: it shows their writes and
   * deliveries. None by default.
   */
  instances?(context: InstancesContext): Promise<Instances>;
  /** Commands of its own program. */
  commands?: Commands;
  /** How its own program runs it; `NAME operator` by default. */
  program?: OperatorProgram<F, P>;
  /** Warnings about how it was started, logged once when it begins to run. */
  warnings?: readonly string[];
  /** Registers figures of its own; called once, when the operator begins to run. */
  metrics?(context: MetricsContext): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

export interface OperatorProgram<F extends Flags = Flags, P extends Flags = Flags> {
  /** The command that runs the operator, of one or two words; `operator` by default. */
  readonly run?: string;
  /** Flags of that command besides those of the operator and of `capstan run`. */
  readonly flags?: P;
  /** Flags of `capstan run` that follow from those of this command: other names, other defaults. The user's own flags win. */
  runFlags?(values: FlagValues<F> & FlagValues<P>): Readonly<Record<string, string | boolean | undefined>>;
  /** Whether it creates its namespaces where it may: for programs whose manifests leave that to them. */
  readonly createsNamespaces?: boolean;
}

export interface InstancesContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The object that would be applied; undefined for an object that would be deleted. */
  readonly given: readonly { readonly kind: Kind; readonly after: KubeObject | undefined }[];
}

export interface Instances {
  /** Each with a name of its own. */
  readonly operators: readonly Operator[];
  /** The assumptions that were made. */
  readonly notes: readonly string[];
}

export interface MetricsContext {
  readonly registry: Registry;
  readonly clock: Clock;
  /** All objects of a kind as the caches have them now. */
  peek(kind: Kind): readonly KubeObject[];
}

/** A kind of ours: defineKind makes it. */
export type OwnedKind = Kind & { crd(): unknown };

export interface Operator extends OperatorDefinition {}

/** An operator: its kinds and reconcilers, their names checked, since field managers, labels and leases are built from them. */
export function operator<const F extends Flags = Flags, const P extends Flags = Flags>(
  definition: OperatorDefinition<F, P>,
): Operator {
  if (!NAME.test(definition.name)) throw DefinitionErrors.BadName('an operator', definition.name);
  const { flags, withFlags } = definition;
  if (flags !== undefined && withFlags === undefined) throw DefinitionErrors.NoWithFlags(definition.name);
  const names = new Set<string>();
  for (const { name } of definition.reconcilers) {
    if (!NAME.test(name)) throw DefinitionErrors.BadName('a reconciler', name);
    if (names.has(name)) throw DefinitionErrors.TwoOfOneName(definition.name, name);
    names.add(name);
  }
  for (const { name } of definition.sinks ?? []) {
    if (names.has(name)) throw DefinitionErrors.TwoOfOneName(definition.name, name);
    names.add(name);
  }
  return definition;
}

/** Whether a reconciler owns status.observedGeneration: it is declared so, or it is the first of its kind that does not decline. */
export function isPrimary({ reconcilers }: Operator, reconciler: Reconciler): boolean {
  if (reconciler.primary !== undefined) return reconciler.primary;
  const id = kindId(reconciler.resource);
  const same = reconcilers.filter(({ resource, primary }) => kindId(resource) === id && primary !== false);
  return same.every(({ primary }) => primary !== true) && same[0] === reconciler;
}
