import { type Operator, operator } from '@capstan/reconcile';
import { configurationChanges } from './deployment/configuration-changes.ts';
import { SesameConfiguration, SesameDeployment } from './kinds/index.ts';
import { createSesameDeploymentReconciler } from './reconcilers/sesame-deployment.ts';
import { DEFAULT_SETTINGS, FLAGS, type Settings, settingsOf } from './settings.ts';

/** Deploys Sesame and Envoy for each SesameDeployment. The control plane itself is `sesame serve`. */
export function createSesame(given: Partial<Settings> = {}): Operator {
  const settings = { ...DEFAULT_SETTINGS, ...given };
  return operator({
    name: 'sesame',
    description: 'Ingress: deployments of Sesame and Envoy, and their configuration.',
    kinds: [SesameConfiguration, SesameDeployment],
    reconcilers: [createSesameDeploymentReconciler(settings)],
    sinks: [configurationChanges],
    flags: FLAGS,
    withFlags: (values) => createSesame({ ...given, ...settingsOf(values) }),
  });
}

export default createSesame();
