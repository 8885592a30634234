import { isIPv6 } from 'node:net';
import { ConfigErrors } from '../../errors.ts';
import type { Edge } from './edge.ts';
import type { ClusterConfig } from './kubeconfig.ts';

const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

export function isInCluster({ env }: Pick<Edge, 'env'>): boolean {
  return Boolean(env['KUBERNETES_SERVICE_HOST'] && env['KUBERNETES_SERVICE_PORT']);
}

/** Returns the configuration of a pod's own cluster and service account. The token is read again when it is rotated. */
export async function inClusterConfig({ env, readFile }: Edge): Promise<ClusterConfig> {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) throw ConfigErrors.NotInCluster();
  const tokenFile = `${FOLDER}/token`;
  await readFile(tokenFile).catch((cause: unknown) => {
    throw ConfigErrors.NoServiceAccount(tokenFile, cause);
  });
  const namespace = await readFile(`${FOLDER}/namespace`).catch(() => '');
  return {
    context: 'in-cluster',
    namespace: namespace.trim() || 'default',
    clusterName: 'in-cluster',
    cluster: {
      file: FOLDER,
      server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
      caFile: `${FOLDER}/ca.crt`,
    },
    userName: 'service account',
    user: { file: FOLDER, tokenFile },
  };
}
