import { systemClock, validateDns1123Subdomain } from '@capstan/kube';
import {
  CLUSTER_OPTIONS,
  command,
  type Refusal,
  refuse,
  UsageErrors,
  withCluster,
} from '@capstan/reconcile/command-line';
import { findBackend } from '../find-backends.ts';
import { rotateBackend } from '../rotate.ts';
import { WAIT_OPTIONS, waitMs } from './wait-options.ts';

export default command({
  usage: 'rotate NAME --secret NEW [--now] [--wait] [--timeout DURATION]',
  description:
    'Names another Secret with credentials of the same remote cluster. They are tried out first; those before stay in force\n' +
    'until a discoverer with the new ones has compared both sides. With --wait it ends then: 0, or 3 when they are refused,\n' +
    '1 when the time is over (outside the window, for example).',
  examples: ['gimbal rotate east --secret east-kubecfg-2 --wait'],
  options: {
    ...CLUSTER_OPTIONS,
    ...WAIT_OPTIONS,
    secret: {
      type: 'string',
      value: 'NAME',
      parse: secretName,
      help: 'The Secret, in the namespace of the backend. Required.',
    },
    now: { type: 'boolean', help: 'At once, also outside the window of the backend.' },
  },
  positionals: 1,
  async run({ command: typed, flags, positionals: [name] }, io) {
    const example = 'gimbal rotate east --secret east-kubecfg-2';
    if (name === undefined) throw UsageErrors.Missing(typed, 'the name of a backend', example);
    const { secret, now = false } = flags;
    if (secret === undefined) throw UsageErrors.Missing(typed, '--secret', example);
    const options = { secret, isNow: now, waitMs: waitMs(flags) };
    const { clock = systemClock, signal } = io;
    return withCluster(flags, io, async ({ client }) => {
      const found = await findBackend(client, name, flags.namespace);
      return rotateBackend(found, { client, clock, signal, report: (line) => io.stdout(`${line}\n`) }, options);
    });
  },
});

function secretName(text: string): string | Refusal {
  const [problem] = validateDns1123Subdomain(text);
  return problem === undefined ? text : refuse(`give the name of a Secret: ${problem}`);
}
