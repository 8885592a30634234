// A gateway as an operator: the sync with its broker, its own Endpoint, and the cables as a sink under the gateway's lease.
import { ConfigMap, type Logger, reasonOf, sleep, systemClock } from '@capstan/kube';
import {
  apply,
  type DerivationDefinition,
  derivation,
  type Operator,
  operator,
  plan,
  type Reconciler,
  reading,
  reconciler,
  type Sink,
  type SinkBatch,
  type SourceDefinition,
  sink,
} from '@capstan/reconcile';
import { createBackstopSink } from '../backstop/backstop-sink.ts';
import type { Backstop } from '../drivers/backstop.ts';
import { Broker, CablePolicies, Cluster, Endpoint, type EndpointSpec, Gateway, Submariner } from '../kinds/index.ts';
import { type DriverName, isEncrypted } from '../policy/driver-names.ts';
import { createBrokerSync } from '../reconcilers/sync-broker.ts';
import { createOwnedSync } from '../reconcilers/sync-owned.ts';
import { createPolicySync, type SyncPlaces } from '../reconcilers/sync-policies.ts';
import { RESOLVED_ANNOTATION } from '../sync/published-outcomes.ts';
import type { CableEngine, CableReport, WantedCable } from './cable-engine.ts';
import { CELL } from './cell.ts';
import { createEndpointPlan, createOutcomes, type EndpointPlan, type LocalGateway } from './wanted-cable.ts';

export interface GatewayOperatorOptions {
  readonly gateway: LocalGateway;
  readonly brokerNamespace: string;
  /** True if an operator started this gateway for a Submariner resource; it starts no work once the resource is gone. */
  readonly needsResource?: boolean;
  /** The broker that this gateway was started for. */
  readonly brokerServer?: string;
  readonly engine: CableEngine;
  /** Undefined where cables are simulated. */
  readonly backstop?: Backstop | undefined;
  /** This gateway's own Endpoint; it changes with the data that its drivers publish. */
  readonly endpoint: SourceDefinition<EndpointSpec>;
  readonly logger: Logger;
  /** Called with the question whether this gateway is the active one. */
  readonly onOpen: (mayAct: () => boolean) => void;
  /** Called with everything that is known of each remote Endpoint, whenever it changes. */
  readonly onPlans: (plans: ReadonlyMap<string, EndpointPlan>) => void;
  /** Called when the Submariner resource of this cluster goes, or comes. */
  readonly onInstalled?: (isInstalled: boolean) => void;
}

/** The Lease of the active gateway. */
export const GATEWAY_LEASE = 'submariner-gateway-lock';

export function createGatewayOperator(options: GatewayOperatorOptions): Operator {
  const { gateway, brokerNamespace, needsResource = false, brokerServer } = options;
  const endpointPlan = createEndpointPlan(gateway);
  const places: SyncPlaces = {
    clusterID: gateway.clusterID,
    namespace: gateway.namespace,
    brokerNamespace,
    needsResource,
    ...(brokerServer !== undefined && { brokerServer }),
  };
  return operator({
    name: 'submariner-gateway',
    description: 'The cables of one gateway, and the sync of its cluster with the broker.',
    kinds: [Submariner, Broker, CablePolicies, Cluster, Endpoint, Gateway],
    reconcilers: [
      createLocalEndpoint(options, createOutcomes(gateway, endpointPlan)),
      ...createPolicySync(places),
      ...createOwnedSync(Cluster, places),
      ...createOwnedSync(Endpoint, places),
      ...createBrokerSync(places),
    ],
    sinks: [
      createCables(options, endpointPlan),
      createInstallation(options),
      ...(options.backstop === undefined ? [] : [createBackstopSink(gateway, options.backstop)]),
    ],
  });
}

/** The Endpoint belongs to the Cluster of this gateway: without one nothing is announced. */
function createLocalEndpoint(
  { gateway, endpoint }: GatewayOperatorOptions,
  outcomes: DerivationDefinition<string>,
): Reconciler {
  const { clusterID, namespace } = gateway;
  return reconciler<Cluster>({
    name: 'local-endpoint',
    resource: Cluster,
    reads: PLAN_READS,
    writes: [Endpoint],
    writesStatus: false,
    primary: false,
    reconcile({ object, read }) {
      if (object.metadata.namespace !== namespace || object.spec.cluster_id !== clusterID) return plan({ held: false });
      const spec = read.source(endpoint).get(CELL);
      if (spec === undefined) return plan({ held: false, prune: false });
      const name = `${clusterID}-${spec.cable_name}`;
      const annotations = { [RESOLVED_ANNOTATION]: read.derived(outcomes, '') };
      // The Endpoint of a gateway that was active before goes: it is no longer part of this plan.
      return plan({
        held: false,
        children: [apply(Endpoint, { metadata: { namespace, name, annotations }, spec }, { adopts: true })],
      });
    },
  });
}

/** The kinds that the plan of a cable is computed from. */
const PLAN_READS = [
  reading(Endpoint, 'everywhere'),
  reading(Cluster, 'everywhere'),
  reading(CablePolicies, 'everywhere'),
  reading(Broker, 'everywhere', { optional: true }),
  ConfigMap,
];

function createCables(
  { engine, onOpen, onPlans, logger }: GatewayOperatorOptions,
  endpointPlan: DerivationDefinition<EndpointPlan | undefined>,
): Sink<EndpointPlan | undefined, CableReport> {
  const plans = new Map<string, EndpointPlan>();
  /** The driver that the engine was last given for each cable. */
  const given = new Map<string, DriverName>();
  const isKept = (cable: string, keeps: true | 'encrypted' | undefined) => {
    const driver = given.get(cable);
    return keeps === true || (keeps === 'encrypted' && driver !== undefined && isEncrypted(driver));
  };
  const take = async ({ changes, snapshot }: SinkBatch<EndpointPlan | undefined>, report: Report) => {
    if (snapshot) {
      plans.clear();
      given.clear();
    }
    const wanted = new Map<string, WantedCable | undefined>();
    for (const { key, before, after } of changes) {
      if (after === undefined) plans.delete(key);
      else plans.set(key, after);
      const [old, next] = [before?.wanted?.cable.name ?? before?.endpoint.cable_name, after?.wanted?.cable.name];
      if (old !== undefined && old !== next && !isKept(old, after?.problem?.keepsCable)) wanted.set(old, undefined);
      if (after?.wanted !== undefined) wanted.set(after.wanted.cable.name, after.wanted);
    }
    for (const [name, each] of wanted)
      if (each === undefined) given.delete(name);
      else given.set(name, each.driver);
    onPlans(plans);
    // A cable whose other end does not answer takes its time: the others do not wait for it.
    const all = [...wanted].flatMap(([name, each]) => (each === undefined ? [] : [[name, each] as const]));
    if (snapshot) logger.info('taking over the cables of this gateway', { cables: all.length });
    const work = snapshot ? engine.adopt(new Map(all)) : engine.apply(wanted);
    const reported = work.then(() => {
      for (const { key, after } of changes) {
        const name = after?.wanted?.cable.name;
        report(key, name === undefined ? undefined : engine.reports().get(name));
      }
    });
    reported.catch((error: unknown) => logger.warn('cables are not as they should be', { problem: reasonOf(error) }));
    // A problem of the whole host shows at once, and is retried.
    await Promise.race([work, sleep(systemClock, ACCEPT_MS)]);
  };
  return sink<EndpointPlan | undefined, CableReport>({
    name: 'cables',
    of: endpointPlan,
    keys: Endpoint,
    reads: PLAN_READS,
    lease: 'operator',
    // Cables stay for the next process of this node, and while the API server is away. They go when another gateway is active.
    onLost: 'keep',
    timeoutMs: 60_000,
    disturbs({ before, after }) {
      const [was, is] = [before?.wanted, after?.wanted];
      if (was === undefined) return undefined;
      if (is === undefined) return 'tears down a cable';
      return was.driver === is.driver ? undefined : `moves a cable from ${was.driver} to ${is.driver}`;
    },
    open({ report, mayAct }) {
      onOpen(mayAct);
      return { take: (batch) => take(batch, report) };
    },
  });
}

const nameOf = ({ metadata }: Submariner) => ({
  name: metadata.name,
  isDeleted: metadata.deletionTimestamp !== undefined,
});

/** Whether the Submariner resource is there and stays; undefined for a key that is not one. */
const installation = derivation<boolean | undefined>({
  name: 'installation',
  compute({ key, read }) {
    const [namespace = '', name = ''] = key.split('/');
    const found = read.get(Submariner, { namespace, name }, nameOf);
    return found === undefined ? undefined : !found.isDeleted;
  },
});

/** The gateway learns from it that it is uninstalled, also when its rights are removed before it ends. */
function createInstallation({ gateway, onInstalled }: GatewayOperatorOptions): Sink<boolean | undefined> {
  const known = new Map<string, boolean>();
  return sink<boolean | undefined>({
    name: 'installation',
    of: installation,
    keys: Submariner,
    reads: [reading(Submariner, 'everywhere')],
    lease: 'none',
    open: () => ({
      take({ changes }) {
        for (const { key, after } of changes)
          if (key.startsWith(`${gateway.namespace}/`)) known.set(key, after ?? false);
        // A gateway that was started by hand has no such resource, and is not uninstalled by its absence.
        if (known.size > 0) onInstalled?.([...known.values()].includes(true));
      },
    }),
  });
}

type Report = (key: string, row: CableReport | undefined) => void;

const ACCEPT_MS = 200;
