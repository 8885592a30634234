import { kindId } from '@capstan/kube';
import { type InstancesContext, type Operator, operator } from '@capstan/reconcile';
import { FLAGS } from './commands/flags.ts';
import { Broker, CablePolicies, Cluster, Endpoint, Gateway, Submariner } from './kinds/index.ts';
import { type ConnectToBroker, createDepartures } from './membership/departures.ts';
import { ADMISSION } from './policy/admission.ts';
import { broker } from './reconcilers/broker.ts';
import { cablePolicies } from './reconcilers/cable-policies.ts';
import { cluster } from './reconcilers/cluster.ts';
import { createSubmarinerReconciler } from './reconcilers/submariner.ts';
import { cablesReport } from './reports/cables-report.ts';
import { DEFAULT_SETTINGS, type Settings, settingsOf } from './settings.ts';
import { EXPORT_FINALIZER, SYNC_FINALIZER } from './sync/content.ts';

/** Cables between clusters: the driver of each pair is chosen by policy. */
export function createSubmariner(given: Partial<Settings> = {}, connect?: ConnectToBroker): Operator {
  const settings = { ...DEFAULT_SETTINGS, ...given };
  const departures = createDepartures(connect);
  return operator({
    name: 'submariner',
    description: 'The right cable for each pair of clusters.',
    alsoWritesAs: ['submariner-gateway'],
    alsoHolds: [SYNC_FINALIZER, EXPORT_FINALIZER],
    kinds: [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway],
    admission: ADMISSION,
    reconcilers: [createSubmarinerReconciler(settings, departures), broker, cablePolicies, cluster],
    sinks: [departures],
    instances: ({ given: changes }) => Promise.resolve({ operators: [], notes: resolvedByGateways(changes) }),
    reports: [cablesReport],
    commands: {
      gateway: { summary: 'Run the gateway of a cluster', load: () => import('./commands/gateway.ts') },
    },
    flags: FLAGS,
    withFlags: (values) => createSubmariner({ ...given, ...settingsOf(values) }, connect),
  });
}

/** The gateways run in the member clusters, which a plan does not read. */
function resolvedByGateways(changes: InstancesContext['given']): string[] {
  const kinds = [CablePolicies, Cluster].filter((one) => changes.some(({ kind }) => kindId(kind) === kindId(one)));
  return kinds.map(
    ({ kind }) =>
      `${kind}: the gateways of the member clusters resolve the drivers of their pairs again; cables that they replace, and the Endpoints that report it, are not shown`,
  );
}

export default createSubmariner();
