import { catalogue } from '@capstan/kube';

export const CommandErrors = catalogue('gimbal', {
  NoBackend: (name: string, known: readonly string[]) => ({
    message: `there is no backend called ${JSON.stringify(name)}`,
    remedy: known.length === 0 ? 'there is none at all; apply a DiscoveryBackend' : `there are ${known.join(', ')}`,
  }),
  NotInstalled: () => ({
    message: 'this cluster has no DiscoveryBackends',
    remedy: 'run the operator there: gimbal operator --install-crds',
  }),
});
