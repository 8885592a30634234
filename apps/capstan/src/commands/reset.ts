import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { systemClock } from '@capstan/kube/cluster';
import { command } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';
import { unmergeKubeconfig } from '../up/merge-kubeconfig.ts';
import { contentOf, endLeftProcesses, MERGED, runningProcess } from '../up/running-cluster.ts';
import { UP_OPTIONS } from '../up/up-options.ts';

export default command({
  usage: 'reset [--data DIR] [--yes]',
  description:
    'Deletes the cluster of a data folder with everything in it, and its contexts in your kubeconfig. The cluster must be stopped.',
  examples: ['capstan reset', 'capstan reset --data /tmp/try-it --yes'],
  options: {
    data: UP_OPTIONS.data,
    yes: { type: 'boolean', short: 'y', help: 'Do not ask.' },
  },
  async run({ flags }, io) {
    const data = resolve(io.cwd, flags.data);
    if (!existsSync(data)) {
      io.stdout(`There is no cluster in ${data}.\n`);
      return 0;
    }
    const pid = runningProcess(data);
    if (pid !== undefined) throw CliErrors.RunsStill(pid, data);
    const content = contentOf(data);
    if (content === undefined) throw CliErrors.NotADataFolder(data);
    if (!flags.yes) {
      if (io.confirm === undefined) throw CliErrors.NotConfirmed(data);
      if (!(await io.confirm(`Delete the cluster in ${data} with everything in it?`))) {
        io.stdout('Nothing has been deleted.\n');
        return 1;
      }
    }
    // Without the folder they could not be found any more.
    await endLeftProcesses(data, io.clock ?? systemClock);
    const merged = await readFile(join(data, MERGED), 'utf8').catch(() => undefined);
    if (merged !== undefined) await unmergeKubeconfig(merged.trim(), data);
    // Delete the lock last: the remains of an interrupted deletion are still recognised as a data folder.
    for (const name of content.toSorted((a, b) => Number(a.startsWith('lock')) - Number(b.startsWith('lock'))))
      await rm(join(data, name), { recursive: true, force: true });
    await rm(data, { recursive: true, force: true });
    io.stdout(`The cluster in ${data} is deleted.\n`);
    return 0;
  },
});
