import { systemClock } from '@capstan/kube';
import { CLUSTER_OPTIONS, command, UsageErrors, withCluster } from '@capstan/reconcile/command-line';
import { findBackend } from '../find-backends.ts';
import { resumeBackend } from '../maintain.ts';
import { WAIT_OPTIONS, waitMs } from './wait-options.ts';

export default command({
  usage: 'resume NAME [--wait] [--timeout DURATION]',
  description:
    'Ends the maintenance of a backend: every weight is as it was. With --wait it ends when that is so: 0, or 1 when it takes\n' +
    'too long, 3 when the backend is not accepted.',
  examples: ['gimbal resume east --wait'],
  options: { ...CLUSTER_OPTIONS, ...WAIT_OPTIONS },
  positionals: 1,
  async run({ command: typed, flags, positionals: [name] }, io) {
    if (name === undefined) throw UsageErrors.Missing(typed, 'the name of a backend', 'gimbal resume east');
    const wait = { waitMs: waitMs(flags) };
    const { clock = systemClock, signal } = io;
    return withCluster(flags, io, async ({ client }) => {
      const found = await findBackend(client, name, flags.namespace);
      return resumeBackend(found, { client, clock, signal, report: (line) => io.stdout(`${line}\n`) }, wait);
    });
  },
});
