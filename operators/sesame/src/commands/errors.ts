import { catalogue } from '@capstan/kube/values';

export const CommandErrors = catalogue('sesame', {
  CannotRead: (path: string, reason: string) => ({
    message: `the file ${path} cannot be read: ${reason}`,
    remedy: 'check its name and permissions',
  }),
  CannotWrite: (path: string, reason: string) => ({
    message: `the file ${path} cannot be written: ${reason}`,
    remedy: 'check the folder and its permissions',
  }),
  Exists: (what: string) => ({ message: `${what} exists already`, remedy: 'give --overwrite to replace it' }),
  CannotReadCluster: (what: string) => ({
    message: `the cluster did not answer within 30 s (waiting for ${what})`,
    remedy: 'check that the CRDs of Sesame are installed and that you may read these kinds',
  }),
  NoXds: (address: string, reason: string) => ({
    message: `${address}: the xDS server did not answer (${reason})`,
    remedy: 'check the address of --sesame, and --cafile, --cert-file and --key-file where it has TLS',
  }),
  ConfigurationInUse: (object: string, by: readonly string[]) => ({
    message: `${object}: the finalizer stays, because replicas use the configuration (${by.join(', ')})`,
    remedy: 'stop these replicas first; one that was killed counts for 30 seconds',
  }),
  NoConfigMap: (namespace: string, name: string) => ({
    message: `ConfigMap ${namespace}/${name}: there is none`,
    remedy: 'name another with --config-map, or give a file',
  }),
  NoDeployment: (namespace: string, name: string) => ({
    message: `Deployment ${namespace}/${name}: there is none`,
    remedy: 'name another with --deployment, or leave it out',
  }),
});
