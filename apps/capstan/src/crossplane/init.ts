// `crossplane core init`: the CustomResourceDefinitions, and what must be there before the first package.
import { createCrossplane, defaultSettings, initCrossplane, settingsFromFlags } from '@capstan/crossplane';
import { systemClock } from '@capstan/kube';
import { ensureCrds, ensureNamespace, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { type Args, command } from '../cli/command.ts';
import { UsageErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';
import { parseCommandLine } from '../cli/parse.ts';
import { report } from '../cli/report.ts';
import { CLUSTER_OPTIONS, withCluster } from '../cluster/open-cluster.ts';

const COMMAND = command({
  usage: 'core init [--namespace NAME] [--runtime-config-stage STAGE]',
  description:
    'Installs the CustomResourceDefinitions, and makes the system namespace, the Lock and the default DeploymentRuntimeConfig where they are absent. What is there is never changed.',
  examples: ['crossplane core init', 'crossplane core init --context staging'],
  options: {
    ...CLUSTER_OPTIONS,
    'runtime-config-stage': { type: 'string', value: 'STAGE', help: 'alpha, beta or GA; default beta.' },
  },
  async run({ flags }: Args, io) {
    const { namespace, 'runtime-config-stage': stage } = flags as Record<string, string | undefined>;
    const given = { ...(namespace && { namespace }), ...(stage && { 'runtime-config-stage': stage }) };
    const taken = settingsFromFlags(given, io.env);
    if ('fault' in taken)
      throw UsageErrors.BadValue(`--${taken.fault.flag}`, stage ?? namespace ?? '', taken.fault.remedy ?? '');
    const settings = { ...defaultSettings(), ...taken };
    return withCluster(flags as never, io, async ({ client }) => {
      const operators = [createCrossplane(settings)];
      const clock = io.clock ?? systemClock;
      await ensureNamespace(client, SYSTEM_NAMESPACE, io.signal);
      await ensureCrds({ client, clock, operators, install: true, signal: io.signal });
      for (const { object, isNew } of await initCrossplane(client, settings, io.signal))
        io.stdout(`${object} ${isNew ? 'created' : 'is there'}\n`);
      return 0;
    });
  },
});

/** Never throws: whatever goes wrong is a sentence on stderr and an exit code. */
export async function runCrossplaneInit(argv: readonly string[], io: Io): Promise<number> {
  try {
    if (argv.includes('--help') || argv.includes('-h')) {
      const { commandHelp } = await import('../cli/help.ts');
      io.stdout(inOwnWords(commandHelp(COMMAND)));
      return 0;
    }
    return await COMMAND.run(parseCommandLine('core init', COMMAND, argv), io);
  } catch (error) {
    const stderr: Io['stderr'] = (text) => io.stderr(inOwnWords(text));
    return report(error, argv.includes('--verbose') || argv.includes('-v'), { ...io, stderr });
  }
}

/** Capstan has no such command. */
function inOwnWords(text: string): string {
  return text.replaceAll('capstan core init', 'crossplane core init');
}
