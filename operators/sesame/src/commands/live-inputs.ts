// Inputs of a migration from the cluster: the ConfigMap that holds the file, and the Deployment that names flags.
import { ConfigMap, Deployment, isNotFound } from '@capstan/kube/cluster';
import { stringify } from 'yaml';
import type { InputFile } from '../migrate/index.ts';
import type { CommandArguments, CommandIo } from './command-io.ts';
import { CommandErrors } from './errors.ts';
import { sesameNamespace } from './namespace.ts';

export async function liveFiles(args: CommandArguments, io: CommandIo): Promise<InputFile[]> {
  const [configMap, deployment] = [args.text('config-map'), args.text('deployment')];
  if (configMap === undefined && deployment === undefined) return [];
  const { client } = await io.openCluster({ kubeconfig: args.text('kubeconfig'), context: args.text('context') });
  const namespace = sesameNamespace(args.text('namespace'), io.env);
  const manifest = (name: string, object: unknown): InputFile => ({
    name,
    // As blocks, so that lines are those of the file.
    bytes: new TextEncoder().encode(
      stringify(object, { lineWidth: 0, defaultStringType: 'PLAIN', blockQuote: 'literal' }),
    ),
  });
  try {
    const files: InputFile[] = [];
    if (configMap !== undefined) {
      const { data, metadata } = await client.get(ConfigMap, { namespace, name: configMap });
      const { name } = metadata;
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: data ?? {} };
      files.push(manifest(`configmap/${configMap}`, object));
    }
    if (deployment !== undefined) {
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
    if (isNotFound(error) && configMap !== undefined) throw CommandErrors.NoConfigMap(namespace, configMap);
    throw error;
  } finally {
    await client.close();
  }
}
