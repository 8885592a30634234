// ConfigMaps with options of drivers, in the files of `cable-policy add -f`.
import { ConfigMap, equal } from '@capstan/kube';
import { validateGatewayOptions } from '../policy/driver-options.ts';
import { optionsOfConfigMap } from '../policy/rule-options.ts';
import type { ClusterView } from './cluster-view.ts';
import { CommandErrors } from './errors.ts';
import type { CommandContext, progress } from './io.ts';

/** Returns the ConfigMap in the namespace of Submariner, since policies find options only beside themselves. */
export function placedConfig(
  config: ConfigMap,
  { namespace }: Pick<ClusterView, 'namespace'>,
  say: ReturnType<typeof progress>,
): ConfigMap {
  const { name = '', namespace: given } = config.metadata;
  if (given !== undefined && given !== namespace)
    say.warning(
      `ConfigMap "${name}": is created in namespace ${namespace}, where policies look for it, not in ${given}`,
    );
  return { ...config, metadata: { ...config.metadata, namespace } };
}

/** Returns all problems of the options, by key and value. */
export function configProblems({ metadata: { name = '' }, data = {} }: ConfigMap): string[] {
  if (name === '') return ['ConfigMap: metadata.name: Required value'];
  const { data: options, problem } = optionsOfConfigMap(data);
  const wrong = problem === undefined ? validateGatewayOptions(options).map(({ message }) => message) : [problem];
  return wrong.map((text) => `ConfigMap "${name}": ${text}`);
}

/** Returns the data under the key by which policies find it. */
export function optionsEntry({ metadata: { namespace = '', name = '' }, data = {} }: ConfigMap) {
  return [`${namespace}/${name}`, data] as const;
}

/** Creates the ConfigMap, or replaces its data if that is allowed. */
export async function writeConfig(
  { client, io: { signal } }: CommandContext,
  config: ConfigMap,
  overwrites: boolean,
): Promise<string> {
  const { namespace = '', name = '' } = config.metadata;
  const found = await client.find(ConfigMap, { namespace, name }, { signal });
  if (found === undefined) {
    await client.create(ConfigMap, config, { signal });
    return `Created ConfigMap "${name}"`;
  }
  const isSame = equal(found.data ?? {}, config.data ?? {});
  if (isSame) return `Kept ConfigMap "${name}"`;
  if (!overwrites) throw CommandErrors.ConfigExists(name);
  const data = [{ op: 'add', path: '/data', value: config.data ?? {} }];
  await client.patch(ConfigMap, { namespace, name }, 'json', data, { signal });
  return `Replaced ConfigMap "${name}"`;
}
