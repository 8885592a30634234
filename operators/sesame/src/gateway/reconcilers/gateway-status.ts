// The status of a Gateway: whether it is served, at which addresses, and the state of each listener.
import { type ConditionInput, type Derived, noCondition, plan, type Reconciler, reconciler } from '@capstan/reconcile';
import { condition, nestedConditions } from '../api/nested-conditions.ts';
import type { Gateway, GatewayAddress } from '../api/objects.ts';
import { GATEWAY_GROUP } from '../api/references.ts';
import { attachedCounts } from '../envoy/host-plan.ts';
import type { GatewayGraph } from '../graph/gateway-graph.ts';
import type { GatewayState } from '../listeners/listener-state.ts';
import type { GatewayReads } from '../routes/gateway-reads.ts';

/** Where clients reach a Gateway. */
export interface Publication {
  readonly addresses: readonly GatewayAddress[];
  /** Wanted addresses that cannot be had. */
  readonly unusable?: readonly string[];
  /** Why there are none, when there are none. */
  readonly waitingFor?: string;
}

export interface GatewayStatusOptions {
  readonly reads: GatewayReads;
  readonly graph: GatewayGraph;
  /** By the Gateway's key. */
  readonly publications: Derived<Publication>;
}

export function gatewayStatus({ reads, graph, publications }: GatewayStatusOptions): Reconciler {
  return reconciler<Gateway>({
    name: 'gateway-status',
    resource: reads.kinds.Gateway,
    reads: reads.declarations,
    writesStatus: true,
    primary: false,
    reconcile({ object, read }) {
      const key = `${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
      const own = read.derived(graph.gateways, key);
      if (!own) return plan({});
      const { state } = own;
      const publication = read.derived(publications, key);
      const counts = attachedCounts(read.derived(graph.routes, key));
      return plan({
        conditions: gatewayConditions(object, state, publication),
        status: {
          addresses: publication.addresses.map(({ type = 'IPAddress', value }) => ({ type, value })),
          listeners: listenerStatuses(object, state, counts),
        },
      });
    },
  });
}

function gatewayConditions(object: Gateway, state: GatewayState, publication: Publication): ConditionInput[] {
  const bad = state.listeners.filter(({ isServed }) => !isServed).map(({ name }) => name);
  const areAllBad = state.listeners.every(({ isAccepted }) => !isAccepted);
  const strange = (object.spec.addresses ?? []).find(({ type = 'IPAddress' }) => type !== 'IPAddress');
  const listeners = `spec.listeners: ${bad.join(', ')} cannot be served; see status.listeners for the reasons`;
  const refused = state.listeners.some(({ isAccepted }) => !isAccepted);
  const accepted = strange
    ? condition(
        'Accepted',
        false,
        'UnsupportedAddress',
        `address type ${strange.type ?? ''} is not supported; use IPAddress`,
      )
    : refused
      ? condition('Accepted', !areAllBad, 'ListenersNotValid', listeners)
      : condition('Accepted', true, 'Accepted', 'Gateway is accepted');
  return [
    accepted,
    programmed(accepted, publication, bad.length === state.listeners.length ? listeners : undefined),
    state.clientCertificateProblem
      ? condition('ResolvedRefs', false, state.clientCertificateProblem.reason, state.clientCertificateProblem.message)
      : condition('ResolvedRefs', true, 'ResolvedRefs', 'Gateway references resolved'),
    state.hasInsecureValidation
      ? condition(
          'InsecureFrontendValidationMode',
          true,
          'ConfigurationChanged',
          'Clients without a valid certificate are served (AllowInsecureFallback)',
        )
      : noCondition('InsecureFrontendValidationMode'),
  ];
}

function programmed(
  accepted: ConditionInput,
  { addresses, unusable = [], waitingFor }: Publication,
  listeners: string | undefined,
): ConditionInput {
  if (accepted.status === 'False') return condition('Programmed', false, 'Invalid', accepted.message);
  if (unusable.length > 0)
    return condition('Programmed', false, 'AddressNotUsable', `addresses ${unusable.join(', ')} cannot be used`);
  if (addresses.length === 0)
    return condition('Programmed', false, 'AddressNotAssigned', waitingFor ?? 'Waiting for an address');
  if (listeners !== undefined) return condition('Programmed', false, 'ListenersNotValid', listeners);
  return condition('Programmed', true, 'Programmed', 'Gateway is programmed');
}

function listenerStatuses(object: Gateway, { listeners }: GatewayState, counts: ReadonlyMap<string, number>) {
  const existing = new Map((object.status?.listeners ?? []).map((each) => [each.name, each.conditions]));
  return listeners.map(({ name, kinds, conditions }) => ({
    name,
    supportedKinds: kinds.map((kind) => ({ group: GATEWAY_GROUP, kind })),
    attachedRoutes: counts.get(name) ?? 0,
    conditions: nestedConditions(conditions, existing.get(name), object.metadata.generation),
  }));
}
