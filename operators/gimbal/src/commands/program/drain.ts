import { systemClock } from '@capstan/kube';
import { CLUSTER_OPTIONS, command, UsageErrors, withCluster } from '@capstan/reconcile/command-line';
import { findBackend } from '../find-backends.ts';
import { drainBackend } from '../maintain.ts';
import { WAIT_OPTIONS, waitMs } from './wait-options.ts';

export default command({
  usage: 'drain NAME [--wait] [--timeout DURATION]',
  description:
    'Puts a backend into maintenance: routes send their requests elsewhere. With --wait it ends when none is left: 0 when the\n' +
    'backend is drained, 3 when routes block it (they are listed), 1 when the time is over.',
  examples: ['gimbal drain east --wait'],
  options: { ...CLUSTER_OPTIONS, ...WAIT_OPTIONS },
  positionals: 1,
  async run({ command: typed, flags, positionals: [name] }, io) {
    if (name === undefined) throw UsageErrors.Missing(typed, 'the name of a backend', 'gimbal drain east');
    const wait = { waitMs: waitMs(flags) };
    const { clock = systemClock, signal } = io;
    return withCluster(flags, io, async ({ client }) => {
      const found = await findBackend(client, name, flags.namespace);
      return drainBackend(found, { client, clock, signal, report: (line) => io.stdout(`${line}\n`) }, wait);
    });
  },
});
