// Inputs of a migration from the cluster: the ConfigMap that holds the file, and the Deployment that names flags.
import { ConfigMap, Deployment, isNotFound } from '@capstan/kube/cluster';
import { type CLUSTER_OPTIONS, type FlagValues, type Io, openCluster } from '@capstan/reconcile/command-line';
import { stringify } from 'yaml';
import type { InputFile } from '../migrate/index.ts';
import { CommandErrors } from './errors.ts';
import { sesameNamespace } from './namespace.ts';

type LiveFlags = FlagValues<typeof CLUSTER_OPTIONS> & {
  readonly 'config-map': string | undefined;
  readonly deployment: string | undefined;
};

export async function liveFiles(flags: LiveFlags, io: Io): Promise<InputFile[]> {
  const { 'config-map': configMap, deployment } = flags;
  if (configMap === undefined && deployment === undefined) return [];
  const { client } = await openCluster(flags, io);
  const namespace = sesameNamespace(flags.namespace, io.env);
  const manifest = (name: string, object: unknown): InputFile => ({
    name,
    // As blocks, so that lines are those of the file.
    bytes: new TextEncoder().encode(
      stringify(object, { lineWidth: 0, defaultStringType: 'PLAIN', blockQuote: 'literal' }),
    ),
  });
  let isMissing: 'ConfigMap' | 'Deployment' = 'ConfigMap';
  try {
    const files: InputFile[] = [];
    if (configMap !== undefined) {
      const { data, metadata } = await client.get(ConfigMap, { namespace, name: configMap });
      const { name } = metadata;
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: data ?? {} };
      files.push(manifest(`configmap/${configMap}`, object));
    }
    if (deployment !== undefined) {
      isMissing = 'Deployment';
      const { spec, metadata } = await client.get(Deployment, { namespace, name: deployment });
      const { name } = metadata;
      files.push(
        manifest(`deployment/${deployment}`, {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name, namespace },
          spec,
        }),
      );
    }
    return files;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw isMissing === 'ConfigMap'
      ? CommandErrors.NoConfigMap(namespace, configMap ?? '')
      : CommandErrors.NoDeployment(namespace, deployment ?? '');
  } finally {
    await client.close();
  }
}
