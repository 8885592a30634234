// The controllers of Sesame (routes, listeners, xDS) as a sink: started with a valid configuration, stopped while it is invalid, and moved
// from one configuration to the next by the smallest action.
import { reasonOf, sleep } from '@capstan/kube';
import { type Derived, derivation, type Sink, type SinkContext, sink } from '@capstan/reconcile';
import { actionsFor, changesBetween, type EffectiveConfiguration, type Problem } from '../configuration/index.ts';
import type { Nack } from '../configuration/instance-record.ts';
import type { InForce, Reads, Version } from './in-force.ts';

/** The controllers behind one configuration: see data-path.ts. */
export interface DataPath {
  start(configuration: EffectiveConfiguration, onReport: (report: DataPathReport) => void): RunningDataPath;
}

export interface DataPathReport {
  readonly nacks: readonly Nack[];
  /** References of the configuration that cannot be used. */
  readonly warnings: readonly Problem[];
  /** Why xDS is not served as configured: a port in use, say. It is tried again. */
  readonly problem: string | undefined;
}

export interface RunningDataPath {
  /** Swaps the configuration in memory; resolves when everything that follows from it has been computed. */
  configure(configuration: EffectiveConfiguration): Promise<void>;
  /** Stops in order; streams and sockets are closed. */
  stop(): Promise<void>;
  /** True once caches are full and xDS is served; otherwise the event that it waits for. */
  readiness(): true | string;
}

export interface Controlled {
  readonly state: InForce['state'];
  readonly configuration: EffectiveConfiguration;
  readonly source: InForce['source'];
  readonly version: Version | undefined;
}

export interface ControllersReport {
  readonly state: 'Running' | 'Starting' | 'Stopped' | 'Failed';
  readonly source: InForce['source'];
  readonly version: Version | undefined;
  readonly problem: string | undefined;
  readonly nacks: readonly Nack[];
  readonly warnings: readonly Problem[];
}

const controlledOf = ({ state, configuration, source, version }: InForce): Controlled => ({
  state,
  configuration,
  source,
  version,
});

export function controllersSink(
  inForce: Derived<InForce>,
  reads: Reads,
  dataPath: DataPath,
): Sink<Controlled, ControllersReport> {
  const one = derivation<readonly string[]>({ name: 'controllers-key', compute: () => [''] });
  const of = derivation<Controlled>({
    name: 'controlled',
    compute: ({ read }) => read.derived(inForce, '', controlledOf),
  });
  return sink<Controlled, ControllersReport>({
    name: 'controllers',
    of,
    keys: one,
    reads,
    lease: 'none',
    disturbs: ({ before, after }) => {
      if (before === undefined || after === undefined) return undefined;
      const actions = actionsFor(changesBetween(before.configuration, after.configuration)).map(({ action }) => action);
      return actions.length === 0 ? undefined : actions.join(', ');
    },
    open(context) {
      const controllers = new Controllers(context, dataPath);
      return {
        async take({ changes }) {
          for (const { after } of changes) if (after !== undefined) await controllers.take(after);
        },
        close: () => controllers.stop(),
      };
    },
  });
}

const POLL_MS = 20;

class Controllers {
  readonly #context: SinkContext<Controlled, ControllersReport>;
  readonly #dataPath: DataPath;
  #running:
    | { readonly path: RunningDataPath; configuration: EffectiveConfiguration; readonly ending: AbortController }
    | undefined;
  #report: ControllersReport = {
    state: 'Stopped',
    source: 'defaults',
    version: undefined,
    problem: undefined,
    nacks: [],
    warnings: [],
  };

  constructor(context: SinkContext<Controlled, ControllersReport>, dataPath: DataPath) {
    this.#context = context;
    this.#dataPath = dataPath;
  }

  async take(wanted: Controlled): Promise<void> {
    const { configuration, source, version } = wanted;
    if (wanted.state === 'stopped') {
      await this.stop();
      this.#notify({
        state: 'Stopped',
        source,
        version,
        problem: 'the configuration is not valid',
        nacks: [],
        warnings: [],
      });
      return;
    }
    const changes = this.#running === undefined ? [] : changesBetween(this.#running.configuration, configuration);
    const actions = actionsFor(changes);
    if (this.#running !== undefined && !actions.some(({ action }) => action === 'restart-controllers')) {
      if (changes.length > 0) {
        this.#context.logger.info('applying the configuration', { actions, fields: changes.map(({ path }) => path) });
        await this.#running.path.configure(configuration);
        this.#running.configuration = configuration;
      }
      this.#notify({ ...this.#report, source, version });
      return;
    }
    if (this.#running !== undefined) {
      this.#context.logger.info('restarting the controllers', { fields: changes.map(({ path }) => path) });
      await this.stop();
    }
    this.#start(wanted);
  }

  /** Resolves when nothing of them is left. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.ending.abort();
    await running?.path.stop();
  }

  #start({ configuration, source, version }: Controlled): void {
    const ending = new AbortController();
    const path = this.#dataPath.start(configuration, ({ nacks, warnings, problem }) => {
      if (ending.signal.aborted) return;
      const { state } = this.#report;
      const report = { ...this.#report, nacks, warnings };
      if (problem !== undefined) this.#notify({ ...report, state: 'Failed', problem });
      else if (state === 'Failed')
        this.#notify({ ...report, state: path.readiness() === true ? 'Running' : 'Starting', problem });
      else this.#notify(report);
    });
    this.#running = { path, configuration, ending };
    this.#notify({ state: 'Starting', source, version, problem: undefined, nacks: [], warnings: [] });
    this.#becomeReady(path, ending.signal).catch((error: unknown) => {
      if (!ending.signal.aborted)
        this.#context.logger.error('the controllers did not start', { reason: reasonOf(error) });
    });
  }

  /** Reports when it serves, and until then the event that it waits for. */
  async #becomeReady(path: RunningDataPath, signal: AbortSignal): Promise<void> {
    for (;;) {
      const readiness = path.readiness();
      if (readiness === true) break;
      if (this.#report.state === 'Starting' && readiness !== this.#report.problem)
        this.#notify({ ...this.#report, problem: readiness });
      await sleep(this.#context.clock, POLL_MS, signal);
    }
    if (!signal.aborted && this.#report.state === 'Starting')
      this.#notify({ ...this.#report, state: 'Running', problem: undefined });
  }

  #notify(report: ControllersReport): void {
    this.#report = report;
    this.#context.report('', report);
  }
}
