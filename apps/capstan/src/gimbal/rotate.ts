import { findBackend, rotateBackend } from '@capstan/gimbal';
import { systemClock, validateDns1123Subdomain } from '@capstan/kube';
import { command } from '../cli/command.ts';
import { UsageErrors } from '../cli/errors.ts';
import { CLUSTER_OPTIONS, withCluster } from '../cluster/open-cluster.ts';
import { WAIT_OPTIONS, waitMs } from './wait-options.ts';

export default command({
  usage: 'rotate NAME --secret NEW [--now] [--wait] [--timeout DURATION]',
  description:
    'Names another Secret with credentials of the same remote cluster. They are tried out first; those before stay in force\n' +
    'until a discoverer with the new ones has compared both sides. With --wait it ends then: 0, or 3 when they are refused,\n' +
    '1 when it takes too long (a window, say).',
  examples: ['gimbal rotate east --secret east-kubecfg-2 --wait'],
  options: {
    ...CLUSTER_OPTIONS,
    ...WAIT_OPTIONS,
    secret: { type: 'string', value: 'NAME', help: 'The Secret, in the namespace of the backend. Required.' },
    now: { type: 'boolean', help: 'At once, whatever the window of the backend says.' },
  },
  positionals: 1,
  async run({ flags, positionals: [name] }, io) {
    const example = 'gimbal rotate east --secret east-kubecfg-2';
    if (name === undefined) throw UsageErrors.Missing('rotate', 'the name of a backend', example);
    const { secret, now = false } = flags;
    if (secret === undefined) throw UsageErrors.Missing('rotate', '--secret', example);
    const [fault] = validateDns1123Subdomain(secret);
    if (fault !== undefined) throw UsageErrors.BadValue('--secret', secret, `give the name of a Secret: ${fault}`);
    const options = { secret, isNow: now, waitMs: waitMs(flags) };
    const { clock = systemClock, signal } = io;
    return withCluster(flags, io, async ({ client }) => {
      const found = await findBackend(client, name, flags.namespace);
      return rotateBackend(found, { client, clock, signal, say: (line) => io.stdout(`${line}\n`) }, options);
    });
  },
});
