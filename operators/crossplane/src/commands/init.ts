// `crossplane core init`: what must be there before the first package. Nothing that exists is changed.
import { type Client, isAlreadyExists, type Kind, type KubeObject, Namespace } from '@capstan/kube';
import { DeploymentRuntimeConfig, LOCK_NAME, Lock } from '../kinds/index.ts';
import { defaultRuntimeConfig } from '../runtime/index.ts';
import type { Settings } from '../settings.ts';

export interface InitResult {
  readonly object: string;
  readonly isNew: boolean;
}

/** Makes the system namespace, the Lock and the default runtime configuration, where they are absent. */
export async function initCrossplane(
  client: Client,
  { namespace, runtimeConfig }: Pick<Settings, 'namespace' | 'runtimeConfig'>,
  signal: AbortSignal,
): Promise<readonly InitResult[]> {
  const objects: readonly [Kind, KubeObject][] = [
    [Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }],
    [Lock, { apiVersion: Lock.apiVersion, kind: Lock.kind, metadata: { name: LOCK_NAME } }],
    [
      DeploymentRuntimeConfig,
      // The version that is stored: the others are the same in all but name.
      { ...defaultRuntimeConfig(runtimeConfig.stage), apiVersion: DeploymentRuntimeConfig.apiVersion },
    ],
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
