// `crossplane core init`: installs the CustomResourceDefinitions and the objects that must exist before the first package.
import { systemClock } from '@capstan/kube';
import { ensureCrds, ensureNamespace, SYSTEM_NAMESPACE } from '@capstan/reconcile';
import { CLUSTER_OPTIONS, command, flagDefaults, withCluster } from '@capstan/reconcile/command-line';
import { createCrossplane } from '../operator.ts';
import { settingsOf } from '../settings.ts';
import { FLAGS } from './flags.ts';
import { initCrossplane } from './init.ts';

const { namespace, 'runtime-config-stage': stage } = FLAGS;
const { kubeconfig, context } = CLUSTER_OPTIONS;

export default command({
  usage: 'core init [--namespace NAME] [--runtime-config-stage STAGE]',
  description:
    'Installs the CustomResourceDefinitions, and creates the system namespaces, the Lock and the default\n' +
    'DeploymentRuntimeConfig where they are absent. What is there is never changed.',
  examples: ['crossplane core init', 'crossplane core init --context staging'],
  options: { kubeconfig, context, namespace, 'runtime-config-stage': stage },
  async run({ flags }, io) {
    const { clock = systemClock, signal } = io;
    const settings = settingsOf({ ...flagDefaults(FLAGS), ...flags });
    return withCluster(flags, io, async ({ client }) => {
      await ensureNamespace(client, SYSTEM_NAMESPACE, signal);
      await ensureCrds({ client, clock, operators: [createCrossplane(settings)], install: true, signal });
      for (const { object, isNew } of await initCrossplane(client, settings, signal))
        io.stdout(`${object} ${isNew ? 'created' : 'is there'}\n`);
      return 0;
    });
  },
});
