import { systemClock } from '@capstan/kube';
import { command, openCluster } from '@capstan/reconcile/command-line';
import { releaseConfiguration } from '../program/release-configuration.ts';
import { CommandErrors } from './errors.ts';
import { SESAME_CLUSTER_OPTIONS, sesameNamespace } from './namespace.ts';

export default command({
  usage: 'config release [NAME] [--namespace NAMESPACE]',
  description:
    'Removes the finalizer that a Sesame left on a SesameConfiguration (default: sesame) when it could not end in order, so that the\n' +
    'configuration can be deleted. Refused while a replica that uses it is alive; its Lease expires 30 seconds after its end.',
  examples: ['sesame config release', 'sesame config release edge -n ingress'],
  positionals: 1,
  options: SESAME_CLUSTER_OPTIONS,
  async run({ flags, positionals: [name = 'sesame'] }, io) {
    const namespace = sesameNamespace(flags.namespace, io.env);
    const { client } = await openCluster({ ...flags, namespace }, io);
    try {
      const release = await releaseConfiguration({
        client,
        clock: io.clock ?? systemClock,
        namespace,
        name,
        signal: io.signal,
      });
      const object = `SesameConfiguration ${namespace}/${name}`;
      if (release.is === 'used') throw CommandErrors.ConfigurationInUse(object, release.by);
      const text = {
        released: 'the finalizer was removed',
        free: 'there is no finalizer of Sesame on it',
        absent: 'there is none',
      }[release.is];
      io.stdout(`${object}: ${text}\n`);
      return 0;
    } finally {
      await client.close();
    }
  },
});
