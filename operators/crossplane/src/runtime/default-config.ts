import { PACKAGE_GROUP, RUNTIME_CONFIG_KIND, RUNTIME_CONTAINER } from './runtime-config.ts';
import type { Stage } from './stages.ts';
import { versionOfStage } from './stages.ts';

export const DEFAULT_CONFIG_NAME = 'default';

/**
 * The config that packages without a reference use: created when it is absent and never overwritten, so that administrators
 * can change it. It spells out the renderer's own defaults, without the design document's example label.
 */
export function defaultRuntimeConfig(stage: Stage) {
  const security = { runAsNonRoot: true, runAsUser: 2000, runAsGroup: 2000 };
  return {
    apiVersion: `${PACKAGE_GROUP}/${versionOfStage(stage)}`,
    kind: RUNTIME_CONFIG_KIND,
    metadata: { name: DEFAULT_CONFIG_NAME },
    spec: {
      deploymentTemplate: {
        spec: {
          replicas: 1,
          template: {
            spec: {
              securityContext: security,
              containers: [
                {
                  name: RUNTIME_CONTAINER,
                  securityContext: { ...security, privileged: false, allowPrivilegeEscalation: false },
                  ports: [{ name: 'metrics', containerPort: 8080 }],
                },
              ],
            },
          },
        },
      },
    },
  };
}
