// The controllers of one `sesame serve`, as `capstan plan` evaluates them: the same graph over the same objects, with the configuration
// read from the cluster, so that a change of it shows its effects. Nothing is opened and nothing is written.
import { Lease } from '@capstan/kube';
import { derivation, type Operator, operator, type Reader, reading } from '@capstan/reconcile';
import { instanceGateways } from '../gateway/graph/instance-gateways.ts';
import type { GatewayKinds } from '../gateway/index.ts';
import type { ContourLease } from '../kinds/contour.ts';
import { SesameConfiguration } from '../kinds/index.ts';
import { createSesameConfigurationReconciler } from '../reconcilers/sesame-configuration.ts';
import { acknowledgementsOf } from '../reports/acknowledgements.ts';
import { ingressReports } from '../reports/ingress-report.ts';
import { ingressComponents } from '../routes/ingress-components.ts';
import { nowhere } from '../routes/nowhere.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import { addressesOf } from './data-path.ts';
import { type ConfigurationChoice, inForceOf } from './in-force.ts';
import { routingSettingsOf } from './routing-settings.ts';

export interface PlannedInstance {
  /** As the plan names it. */
  readonly name: string;
  readonly choice: ConfigurationChoice;
  /** Its operator runs it while there is its SesameConfiguration. Otherwise it runs with defaults where there is none. */
  readonly isManaged: boolean;
  readonly gatewayKinds: GatewayKinds;
  readonly contour?: ContourLease | undefined;
}

export function plannedInstance({ name, choice, isManaged, gatewayKinds, contour }: PlannedInstance): Operator {
  const inForce = inForceOf(choice);
  const ref = { namespace: choice.namespace, name: choice.name };
  const configuration = (read: Reader) => read.derived(inForce, '').configuration;
  const settings = derivation<RoutingSettings>({
    name: 'routing-settings',
    compute({ read }) {
      const found = routingSettingsOf(configuration(read), contour !== undefined);
      return isManaged && !read.get(SesameConfiguration, ref, isThere) ? nowhere(found) : found;
    },
  });
  const addresses = (read: Reader) => addressesOf(read, configuration(read), choice.watchNamespaces);
  const gateways = instanceGateways({
    settings,
    gateway: (read) => configuration(read).gateway,
    addresses: (read) => addresses(read)?.ingress ?? [],
    kinds: gatewayKinds,
  });
  const reads = [
    reading(SesameConfiguration, 'everywhere', { optional: true }),
    // Read every namespace: instances are not all in one.
    reading(Lease, 'everywhere', { optional: true }),
    ...(gateways?.reads ?? []),
  ];
  const { reconcilers, sinks, graph } = ingressComponents({
    settings,
    ...(gateways && { gateways: { ...gateways, reads } }),
    contour,
    loadBalancer: addresses,
    // The xDS server is in the program of the instance.
    acknowledgements: (asked, context) => acknowledgementsOf(`${ref.namespace}/${ref.name}`, asked, context),
  });
  return operator({
    name,
    kinds: [],
    reconcilers: [...reconcilers, createSesameConfigurationReconciler({ ...ref, inForce, leavesOthers: true })],
    sinks,
    reports: ingressReports({
      instance: `${ref.namespace}/${ref.name}`,
      graph,
      gateways: gateways && { graph: gateways.graph, kinds: gateways.kinds },
    }),
  });
}

const isThere = ({ metadata }: SesameConfiguration) => metadata.deletionTimestamp === undefined;
