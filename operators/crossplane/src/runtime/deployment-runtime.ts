// The runtime `Deployment`: a DeploymentRuntimeConfig is the template, a Deployment runs the package.
import { Deployment, ROLLOUT_FIELDS } from '@capstan/kube';
import { DeploymentRuntimeConfig } from '../kinds/deployment-runtime-config.ts';
import { defaultRuntimeConfig } from './default-config.ts';
import { deploymentHealth } from './deployment-health.ts';
import { normalizeRuntimeConfig } from './normalize.ts';
import { type RenderedRuntime, renderRuntime } from './render/render.ts';
import type { BuiltInRuntime } from './runtime.ts';
import { EMPTY_RUNTIME_CONFIG, RUNTIME_CONFIG_VERSIONS, type RuntimeConfig } from './runtime-config.ts';
import { versionOfStage } from './stages.ts';
import { workloadOf } from './workload.ts';

export const deploymentRuntime: BuiltInRuntime<RuntimeConfig> = {
  name: 'Deployment',
  config: {
    kind: DeploymentRuntimeConfig,
    versions: RUNTIME_CONFIG_VERSIONS,
    versionOf: versionOfStage,
    defaultConfig: defaultRuntimeConfig,
  },
  workload: workloadOf({
    kind: Deployment,
    fields: [
      ...ROLLOUT_FIELDS,
      'spec.selector',
      'spec.template.metadata.annotations',
      'spec.template.spec.serviceAccountName',
    ],
    health: deploymentHealth,
    account: ({ spec }) => spec?.template.spec?.serviceAccountName,
  }),
  takesControllerConfigs: true,
  normalize: normalizeRuntimeConfig,
  emptyConfig: EMPTY_RUNTIME_CONFIG,
  render({ keepsLastWords, ...input }) {
    const rendered = renderRuntime(input);
    const { deployment, ...rest } = keepsLastWords ? withLastWords(rendered) : rendered;
    return { workload: deployment, ...rest };
  },
};

/** The kubelet takes the end of the log for the termination message: that is how it gets into a status. */
function withLastWords(rendered: RenderedRuntime): RenderedRuntime {
  const { deployment } = rendered;
  const pod = deployment.spec?.template.spec;
  if (deployment.spec === undefined || pod === undefined) return rendered;
  const [own, ...others] = pod.containers;
  if (own === undefined) return rendered;
  const container = { terminationMessagePolicy: 'FallbackToLogsOnError', ...own };
  const template = { ...deployment.spec.template, spec: { ...pod, containers: [container, ...others] } };
  return { ...rendered, deployment: { ...deployment, spec: { ...deployment.spec, template } } };
}
