import { type Operator, operator } from '@capstan/reconcile';
import { SesameConfiguration, SesameDeployment } from './kinds/index.ts';
import { createSesameDeploymentReconciler } from './reconcilers/sesame-deployment.ts';
import { defaultSettings, type Settings } from './settings.ts';

/** Deploys Sesame and Envoy for each SesameDeployment. The control plane itself is `sesame serve`. */
export function createSesame(given: Partial<Settings> = {}): Operator {
  const settings = { ...defaultSettings(), ...given };
  return operator({
    name: 'sesame',
    description: 'Ingress: deployments of Sesame and Envoy, and their configuration.',
    kinds: [SesameConfiguration, SesameDeployment],
    reconcilers: [createSesameDeploymentReconciler(settings)],
  });
}

export default createSesame();
