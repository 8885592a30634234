// Creates the objects of `crossplane core init`, which must exist before the first package. Existing objects are not changed.
import { type Client, isAlreadyExists, type Kind, type KubeObject, Namespace } from '@capstan/kube';
import { LOCK_NAME, Lock } from '../kinds/index.ts';
import { runtimesInUse } from '../packages/package-kind.ts';
import { deploymentRuntime } from '../runtime/index.ts';
import { defaultSettings, type Settings } from '../settings.ts';

export interface InitResult {
  readonly object: string;
  readonly isNew: boolean;
}

/** Makes the system namespace, the Lock and the default runtime configuration, where they are absent. */
export async function initCrossplane(
  client: Client,
  given: Partial<Pick<Settings, 'namespace' | 'runtimeConfig' | 'runtimes' | 'packageRuntime'>>,
  signal: AbortSignal,
): Promise<readonly InitResult[]> {
  const settings = { ...defaultSettings(), ...given };
  const { namespace, runtimeConfig } = settings;
  // A DeploymentRuntimeConfig in any case: who starts with another runtime may go back.
  const configured = new Set([deploymentRuntime, ...runtimesInUse(settings)]);
  const objects: readonly [Kind, KubeObject][] = [
    [Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }],
    [Lock, { apiVersion: Lock.apiVersion, kind: Lock.kind, metadata: { name: LOCK_NAME } }],
    ...[...configured].map(({ config }): [Kind, KubeObject] => {
      const { metadata, spec } = config.defaultConfig(runtimeConfig.stage);
      // The version that is stored: the others are the same in all but name.
      const { apiVersion, kind } = config.kind;
      return [config.kind, { apiVersion, kind, metadata, spec } as KubeObject];
    }),
  ];
  const results: InitResult[] = [];
  for (const [kind, object] of objects) {
    const name = `${kind.kind.toLowerCase()}/${object.metadata.name ?? ''}`;
    results.push({ object: name, isNew: await createdNow(client, kind, object, signal) });
  }
  return results;
}

async function createdNow(client: Client, kind: Kind, object: KubeObject, signal: AbortSignal): Promise<boolean> {
  try {
    await client.create(kind, object, { fieldManager: 'crossplane-init', signal });
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}
