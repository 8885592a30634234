import { kindId } from '@capstan/kube';
import { type InstancesContext, type Operator, operator } from '@capstan/reconcile';
import { ADMISSION } from './backend/admission.ts';
import { FLAGS } from './commands/flags.ts';
import { COMMANDS } from './commands/index.ts';
import { createVerification } from './credentials/verifier.ts';
import { Discoverer, Discovery, DiscoveryBackend } from './kinds/index.ts';
import { registerBackendMetrics } from './metrics.ts';
import { backendAcceptance } from './reconcilers/acceptance.ts';
import { createCredentialsReconciler } from './reconcilers/credentials.ts';
import { createDiscovererReconciler, isDiscovererGone } from './reconcilers/discoverer.ts';
import { hiddenBackends } from './reconcilers/hidden-backend.ts';
import { createMaintenance, type MaintenanceOptions } from './reconcilers/maintenance-parts.ts';
import { createDiscoveryReport } from './reports/discovery-report.ts';
import { defaultSettings, type Settings, settingsOf } from './settings.ts';

export interface GimbalOptions extends Partial<Settings> {
  maintenance?: MaintenanceOptions;
}

/** Discovery backends: their discoverers, the credentials of these, and the traffic that leaves for maintenance and returns. */
export function createGimbal({ maintenance: options, ...given }: GimbalOptions = {}): Operator {
  const settings = { ...defaultSettings(), ...given };
  const maintenance = createMaintenance({ isDiscovererGone, ...options });
  return operator({
    name: 'gimbal',
    alsoWritesAs: ['gimbal-discoverer'],
    description: 'Discovery backends: their discoverers, their drains and their credentials.',
    kinds: [DiscoveryBackend, Discoverer, Discovery],
    admission: ADMISSION,
    reconcilers: [
      backendAcceptance,
      ...hiddenBackends,
      createCredentialsReconciler(createVerification(settings.verify)),
      createDiscovererReconciler(settings, maintenance),
      ...maintenance.reconcilers,
    ],
    instances: ({ given: changes }) => Promise.resolve({ operators: [], notes: changes.flatMap(mirroredBy) }),
    metrics: registerBackendMetrics,
    reports: [createDiscoveryReport(maintenance.routes)],
    flags: FLAGS,
    withFlags: (values) => createGimbal({ ...given, ...settingsOf(values), ...(options && { maintenance: options }) }),
    commands: COMMANDS,
  });
}

/** Its discoverer reads the other cluster, which a plan does not ask. A deletion is shown: it leaves nothing. */
function mirroredBy({ kind, after }: InstancesContext['given'][number]): string[] {
  const isBackend = [DiscoveryBackend, Discoverer, Discovery].some((one) => kindId(one) === kindId(kind));
  if (after === undefined || !isBackend) return [];
  const { kind: name, metadata } = after;
  return [
    `${name} ${metadata.namespace}/${metadata.name}: the Services and EndpointSlices that its discoverer then mirrors follow from the other cluster and are not shown`,
  ];
}

export default createGimbal();
