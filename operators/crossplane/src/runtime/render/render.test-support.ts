// Revisions and configs for tests of rendered objects.
import { loadBuiltinSchemas } from '@capstan/kube';
import { normalizeRuntimeConfig } from '../normalize.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../runtime-config.ts';
import type { RenderInput, RuntimeRevision } from './render.ts';

export const schemas = loadBuiltinSchemas();

export const provider: RuntimeRevision = {
  kind: 'Provider',
  packageName: 'provider-example',
  name: 'provider-example-1234567890ab',
  uid: 'no-such-uid',
  image: 'registry.example.org/contrib/provider-example:v1.0.0',
  pullPolicy: 'IfNotPresent',
  pullSecrets: [],
  tlsServerSecretName: 'provider-example-tls-server',
  tlsClientSecretName: 'provider-example-tls-client',
};

export const functionRevision: RuntimeRevision = {
  kind: 'Function',
  packageName: 'function-example',
  name: 'function-example-1234567890ab',
  uid: 'no-such-uid',
  image: 'registry.example.org/contrib/function-example:v1.0.0',
  pullPolicy: 'IfNotPresent',
  pullSecrets: [],
  tlsServerSecretName: 'function-example-tls-server',
};

/** A render of the Provider with an empty config, unless something else is asked for. */
export function inputWith(given: Partial<RenderInput> = {}): RenderInput {
  return { revision: provider, config: EMPTY_RUNTIME_CONFIG, namespace: 'crossplane-system', ...given };
}

/** The normal form of a config with this spec; a spec with errors or warnings is a mistake in the test. */
export function configOf(spec: object, annotations: Record<string, string> = {}): RuntimeConfig {
  const { config, errors, warnings } = normalizeRuntimeConfig(
    {
      apiVersion: 'pkg.crossplane.io/v1beta1',
      kind: 'DeploymentRuntimeConfig',
      metadata: { name: 'test', annotations },
      spec,
    },
    schemas,
  );
  if (config === undefined || warnings.length > 0) throw new Error(JSON.stringify([...errors, ...warnings]));
  return config;
}

/** A config whose pod spec is this. */
export function podConfig(pod: object): RuntimeConfig {
  return configOf({ deploymentTemplate: { spec: { template: { spec: pod } } } });
}
