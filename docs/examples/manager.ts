// A program of its own: the operator of website-operator.ts with leader election, probes, metrics and an orderly end.
//   node docs/examples/manager.ts [KUBECONFIG]

import { systemClock } from '@capstan/kube';
import { createLogger, createManager, type ManagerOptions } from '@capstan/reconcile';
import websites from './website-operator.ts';

/** Runs until the signal is aborted and everything has ended. */
export async function main(signal: AbortSignal, options: Partial<ManagerOptions> = {}): Promise<void> {
  const logger = createLogger({ clock: systemClock, format: 'text', write: (line) => void process.stderr.write(line) });
  const manager = createManager({
    operators: [websites],
    logger,
    installCrds: true,
    leaderElection: true,
    healthAddress: '127.0.0.1:8081',
    metricsAddress: '127.0.0.1:8080',
    onEvent: ({ type, ...details }) => logger.info(type, details),
    ...options,
  });
  await manager.run(signal);
}

if (import.meta.main) {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  const [, , kubeconfig] = process.argv;
  await main(stopping.signal, kubeconfig === undefined ? {} : { kubeconfig });
}
