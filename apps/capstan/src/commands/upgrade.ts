import { Deployment, discover, systemClock } from '@capstan/kube';
import { SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { command, type OperatorFlags, withCluster } from '@capstan/reconcile/command-line';
import { ADMISSION_NAME } from '../admission/names.ts';
import { CliErrors } from '../cli/errors.ts';
import { loadOperators, OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { applyInstallation } from '../install/apply.ts';
import { admissionOperators, IMAGE_OPTIONS, INSTALL_OPTIONS, installationOf } from '../install/install-options.ts';
import { ONE_PROGRAM, operatorsOf } from '../install/manifests.ts';
import { givenIn, mergedFlags } from '../install/operator-args.ts';

export default command({
  usage: 'upgrade [--operators LIST] [-n NAMESPACE] [--image IMAGE]',
  description:
    'Brings the operators that are installed to this version: definitions first, then the operators. When one does not become\n' +
    'ready, every operator that is not ready gets its former Deployment back; definitions are not reverted. Flags of operators that\n' +
    'their pods have now stay, unless others are given.',
  examples: ['capstan upgrade --image registry.example.com/capstan:1.1.0'],
  options: { ...INSTALL_OPTIONS, ...IMAGE_OPTIONS, ...OPERATOR_OPTIONS },
  operatorFlags: true,
  async run(args, io) {
    const { flags } = args;
    const all = await requireOperators(args, io);
    return withCluster(flags, io, async ({ client }) => {
      const { signal } = io;
      const served = await discover(client, { signal });
      const { namespace = SYSTEM_NAMESPACE } = flags;
      const { items } = await client.list(Deployment, { namespace, signal });
      const installed = new Set(items.map(({ metadata }) => metadata.name));
      const isInstalled = (name: string) => installed.has(`capstan-${name}`);
      const program = items.find(({ metadata }) => metadata.name === `capstan-${ONE_PROGRAM}`);
      const isOneProgram = program !== undefined;
      const running = new Set(isOneProgram ? operatorsOf(program) : all.map(({ name }) => name).filter(isInstalled));
      const operators = all.filter(({ name }) => flags.operators !== undefined || running.has(name));
      if (!operators.some(({ name }) => running.has(name))) throw CliErrors.NotInstalledYet(namespace);
      const admission = await admissionOperators(installed.has(ADMISSION_NAME));
      const deployments = items.filter(({ metadata: { name } }) =>
        isOneProgram ? name === program.metadata.name : operators.some((one) => name === `capstan-${one.name}`),
      );
      const before = Object.assign({}, ...deployments.map((one) => givenIn(one, operators))) as OperatorFlags;
      const operatorFlags = mergedFlags(operators, before, args.operatorFlags);
      const given = { flags: { ...flags, 'one-program': isOneProgram }, operatorFlags };
      const flagged = await loadOperators({ ...args, operatorFlags }, io);
      const upgraded = flagged.filter(({ name }) => operators.some((one) => one.name === name));
      await applyInstallation({
        client,
        clock: io.clock ?? systemClock,
        installation: installationOf(upgraded, given, served, admission),
        timeoutMs: flags.timeout,
        report: (line) => io.stderr(`  ${line}\n`),
        signal,
      });
      io.stdout('Capstan is upgraded. Next: capstan status\n');
      return 0;
    });
  },
});
