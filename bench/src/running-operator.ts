// An operator that runs in this process, on a transport that the benchmark has put its counters into.
import { silentLogger, systemClock, type Transport } from '@capstan/kube';
import { createRuntime, type Operator, type Runtime } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import { clientOf } from './runtime/cluster.ts';
import { until } from './runtime/until.ts';

export interface RunningOperator {
  readonly runtime: Runtime;
  /** Everything that is known has been evaluated, and written where something was to be. */
  isAtRest(): boolean;
  /** Resolves when it is at rest. */
  rest(): Promise<void>;
  stop(): Promise<void>;
}

export function runOperator(operator: Operator, transport: Transport): RunningOperator {
  const runtime = createRuntime({
    operators: [operator],
    clock: systemClock,
    random: createRandom(3),
    logger: silentLogger,
  });
  runtime.setDigestKey({ id: 'bench', bytes: new Uint8Array(32) });
  runtime.addWorld({ name: '', client: clientOf(transport) });
  const stopping = new AbortController();
  const running = runtime.run(stopping.signal);
  const isAtRest = () => runtime.isSynced && runtime.isIdle && runtime.unsettled === 0;
  return {
    runtime,
    isAtRest,
    rest: () => until(isAtRest),
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
