import { discover, systemClock } from '@capstan/kube';
import { command, UsageErrors, withCluster } from '@capstan/reconcile/command-line';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { admissionOperators, INSTALL_OPTIONS, installationOf } from '../install/install-options.ts';
import { asNamespaced, NAMESPACED_OPTION } from '../install/namespaced.ts';
import { removedObjects, removeInstallation } from '../install/remove.ts';

export default command({
  usage: 'uninstall [--delete-objects | --keep-objects] [--operators LIST] [-n NAMESPACE] [--dry-run]',
  description:
    'Removes operators, their permissions and their definitions. Objects of their kinds must be deleted already, unless one of these\n' +
    'flags is given: --delete-objects deletes them first, while the operators still run, with what they stand for;\n' +
    '--keep-objects keeps them and their definitions. What the operators made for themselves goes with them, and so does a namespace\n' +
    'that capstan install created, if nothing else is in it.',
  examples: ['capstan uninstall', 'capstan uninstall --keep-objects --operators gimbal'],
  options: {
    ...INSTALL_OPTIONS,
    ...OPERATOR_OPTIONS,
    'delete-objects': { type: 'boolean', help: 'Delete the objects of the operators first.' },
    'keep-objects': { type: 'boolean', help: 'Keep objects and definitions.' },
    ...NAMESPACED_OPTION,
    'dry-run': { type: 'boolean', help: 'Print what would be removed, one object a line, and change nothing.' },
  },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const [deletes, keeps] = [flags['delete-objects'] ?? false, flags['keep-objects'] ?? false];
    if (deletes && keeps) throw UsageErrors.Conflicting('--delete-objects', '--keep-objects');
    const operators = await requireOperators(args, io);
    // With the last operators the webhook has nothing left to check.
    const admission = await admissionOperators(flags.operators === undefined);
    return withCluster(flags, io, async ({ client, namespace }) => {
      const served = await discover(client, { signal: io.signal });
      const isNamespaced = flags.namespaced === true;
      const given = isNamespaced ? { ...args, flags: { ...flags, namespace } } : args;
      const whole = installationOf(operators, given, served, isNamespaced ? [] : admission);
      const removal = {
        client,
        clock: io.clock ?? systemClock,
        installation: isNamespaced ? asNamespaced(whole) : whole,
        objects: deletes ? 'delete' : keeps ? 'keep' : undefined,
        signal: io.signal,
      } as const;
      if (flags['dry-run'] === true) {
        for (const line of await removedObjects(removal)) io.stdout(`${line}\n`);
        return 0;
      }
      await removeInstallation({
        ...removal,
        timeoutMs: flags.timeout,
        report: (line) => io.stderr(`  ${line}\n`),
      });
      io.stdout('Capstan is removed.\n');
      return 0;
    });
  },
});
