import { resolve } from 'node:path';
import { sleep, systemClock } from '@capstan/kube';
import { command, positiveDuration } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import { endLeftProcesses, runningProcess } from '../up/running-cluster.ts';
import { UP_OPTIONS } from '../up/up-options.ts';

export default command({
  usage: 'down [--data DIR]',
  description:
    'Stops the cluster that capstan up runs in a data folder, in order, and waits until it has ended. What it holds is kept.',
  examples: ['capstan down', 'capstan down --data /tmp/try-it'],
  options: {
    data: UP_OPTIONS.data,
    timeout: {
      type: 'string',
      value: 'DURATION',
      default: '45s',
      parse: positiveDuration,
      help: 'How long to wait.',
    },
  },
  async run({ flags }, io) {
    const { clock = systemClock } = io;
    const data = resolve(io.cwd, flags.data);
    const pid = runningProcess(data);
    if (pid === undefined) {
      await endLeftProcesses(data, clock);
      io.stdout(`No cluster runs in ${data}.\n`);
      return 0;
    }
    process.kill(pid, 'SIGTERM');
    const deadline = clock.now() + flags.timeout;
    while (runningProcess(data) === pid) {
      if (clock.now() >= deadline) throw CliErrors.StillRunning(pid, data);
      await sleep(clock, POLL_MS, io.signal);
    }
    io.stdout(`The cluster in ${data} is stopped; capstan up starts it again.\n`);
    return 0;
  },
});

const POLL_MS = 100;
