import { discover, systemClock } from '@capstan/kube';
import { command, formatManifests, UsageErrors, withCluster } from '@capstan/reconcile/command-line';
import { OPERATOR_OPTIONS, requireOperators } from '../cli/load-operators.ts';
import { applyInstallation } from '../install/apply.ts';
import {
  ADMISSION_OPTION,
  admissionOperators,
  IMAGE_OPTIONS,
  INSTALL_OPTIONS,
  installationOf,
  MAX_ROLE_OPTION,
  ONE_PROGRAM_OPTION,
  withMaxRole,
} from '../install/install-options.ts';
import { installationObjects } from '../install/manifests.ts';
import { asNamespaced, NAMESPACED_OPTION, namespacedOperators } from '../install/namespaced.ts';

export default command({
  usage: 'install [--operators LIST] [-n NAMESPACE] [--image IMAGE] [--one-program] [--admission] [-o yaml]',
  description:
    'Installs operators in a cluster: their definitions, accounts with the permissions that they declare and no others, and a\n' +
    'Deployment for each (with --one-program: for all), with probes, a PodDisruptionBudget and a NetworkPolicy. Waits until\n' +
    'all are ready. Flags of operators go to their pods. With -o the manifests are printed instead, for kubectl or GitOps.\n' +
    'Installing again changes what differs.',
  examples: [
    'capstan install --image registry.example.com/capstan:1.0.0',
    'capstan install --operators sesame,kroxylicious -n edge',
    'capstan install -o yaml > capstan.yaml',
  ],
  options: {
    ...INSTALL_OPTIONS,
    ...IMAGE_OPTIONS,
    ...ONE_PROGRAM_OPTION,
    ...ADMISSION_OPTION,
    ...MAX_ROLE_OPTION,
    ...NAMESPACED_OPTION,
    ...OPERATOR_OPTIONS,
    output: { type: 'string', short: 'o', oneOf: ['yaml', 'json'], help: 'Print the manifests, and apply nothing.' },
  },
  operatorFlags: true,
  async run(given, io) {
    const { flags } = given;
    const operatorFlags = withMaxRole(given.operatorFlags, flags['crossplane-max-role']);
    const args = { ...given, operatorFlags };
    const operators = await requireOperators(args, io);
    if (flags.namespaced === true && flags.admission === true)
      throw UsageErrors.Conflicting('--namespaced', '--admission');
    const admission = await admissionOperators(flags.admission ?? false);
    if (flags.output !== undefined) {
      const { foundations, workloads } = installationObjects(installationOf(operators, args, undefined, admission));
      io.stdout(await formatManifests([...foundations, ...[...workloads.values()].flat()], flags.output));
      return 0;
    }
    return withCluster(flags, io, async ({ client, context, namespace }) => {
      const served = await discover(client, { signal: io.signal });
      const isNamespaced = flags.namespaced === true;
      const chosen = isNamespaced ? namespacedOperators(operators, served) : { operators, leftOut: [] };
      for (const line of chosen.leftOut) io.stderr(`${line}\n`);
      const given = isNamespaced ? { ...args, flags: { ...flags, namespace } } : args;
      const whole = installationOf(chosen.operators, given, served, admission);
      const installation = isNamespaced ? asNamespaced(whole) : whole;
      const names = chosen.operators.map(({ name }) => name).join(', ');
      io.stderr(`Installing ${names} in the namespace ${installation.namespace} of ${context} ...\n`);
      await applyInstallation({
        client,
        clock: io.clock ?? systemClock,
        installation,
        timeoutMs: flags.timeout,
        report: (line) => io.stderr(`  ${line}\n`),
        signal: io.signal,
      });
      const next = isNamespaced ? `capstan status -n ${installation.namespace}` : 'capstan status';
      io.stdout(`Capstan is installed. Next: ${next}\n`);
      return 0;
    });
  },
});
