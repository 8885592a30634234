// The report of a gateway in its Gateway object. It is written when something changed. Latencies move by steps, so a settled gateway
// writes nothing.
import { type Client, formatDurationNanos, isConflict, isNotFound } from '@capstan/kube';
import { type Connection, type EndpointSpec, Gateway, type GatewayStatus } from '../kinds/index.ts';
import type { CableReport, DriverStart } from './cable-engine.ts';
import { bucketOf, type Health } from './health.ts';
import type { EndpointPlan } from './wanted-cable.ts';

export interface ReportParts {
  readonly version: string;
  readonly isActive: boolean;
  readonly isSimulated: boolean;
  readonly endpoint: EndpointSpec;
  readonly drivers: ReadonlyMap<string, DriverStart>;
  /** Problems that are not those of a driver: files, the Node, the broker. */
  readonly problems: readonly string[];
  /** Why the broker cannot be used. */
  readonly brokerProblem?: string | undefined;
  readonly plans: ReadonlyMap<string, EndpointPlan>;
  readonly cables: ReadonlyMap<string, CableReport>;
  /** By the name of the cable. */
  readonly health: ReadonlyMap<string, Health>;
  /** Whether the backstop rejects packets to these subnets outside of cables; undefined where cables are simulated. */
  readonly isProtected?: ((subnets: readonly string[]) => boolean) | undefined;
}

export function gatewayStatusOf(parts: ReportParts): GatewayStatus {
  const {
    version,
    isActive,
    isSimulated,
    endpoint,
    drivers,
    problems,
    brokerProblem,
    plans,
    cables,
    health,
    isProtected,
  } = parts;
  const failures = [
    ...[...drivers].flatMap(([name, start]) => ('problem' in start ? [`${name}: ${start.problem}`] : [])),
    ...problems,
    ...(brokerProblem === undefined ? [] : [brokerProblem]),
  ];
  const connections = isActive
    ? [...plans.values()]
        .map((plan) => ({
          ...connectionOf(plan, cables.get(plan.endpoint.cable_name), health.get(plan.endpoint.cable_name)),
          ...(isProtected !== undefined && { protected: isProtected(plan.endpoint.subnets) }),
        }))
        .toSorted((a, b) => (a.endpoint.cluster_id < b.endpoint.cluster_id ? -1 : 1))
    : [];
  return {
    version,
    haStatus: isActive ? 'active' : 'passive',
    localEndpoint: endpoint,
    statusFailure: failures.join('; '),
    ...(brokerProblem !== undefined && { brokerFailure: brokerProblem }),
    backends: [...drivers].map(([name, start]) => ({
      name,
      available: 'config' in start,
      ...('problem' in start && { message: start.problem }),
      ...('config' in start && { config: { ...start.config } }),
    })),
    connections,
    ...(isSimulated && { simulated: true }),
  };
}

function connectionOf(
  { endpoint, decision, problem, disagreement }: EndpointPlan,
  cable: CableReport | undefined,
  health: Health | undefined,
): Connection {
  const policy = decision === undefined ? {} : { usingPolicy: decision.policy };
  if (problem !== undefined || cable === undefined) {
    const { status, message } = problem ?? { status: 'connecting' as const, message: 'preparing the cable' };
    const driver = cable === undefined || problem?.keepsCable === undefined ? {} : { usingCableDriver: cable.driver };
    return { status, statusMessage: message, endpoint, ...policy, ...driver };
  }
  // The driver may take a cable for good through which nothing passes, and the other way round.
  const isLost = cable.status === 'connected' && health?.status === 'failed';
  const isFound = cable.status === 'error' && health?.status === 'ok';
  const seen = isLost ? 'error' : isFound ? 'connected' : cable.status;
  // Ends that resolve differently are connected only where packets prove it.
  const status = disagreement !== undefined && seen === 'connected' && health?.status !== 'ok' ? 'error' : seen;
  const own = isLost ? health.message : isFound ? undefined : cable.message;
  const parts = [disagreement, own].filter((each) => each !== undefined && each !== '');
  const message = parts.length === 0 ? undefined : parts.join('; ');
  const { latency } = health ?? {};
  const shown = (nanoseconds: number) => formatDurationNanos(BigInt(bucketOf(nanoseconds)));
  return {
    status,
    ...(message !== undefined && { statusMessage: message }),
    endpoint,
    usingIP: cable.usingIP,
    usingNAT: cable.usingNAT,
    usingCableDriver: cable.driver,
    usingPolicy: cable.policy,
    ...(latency !== undefined && {
      latencyRTT: {
        last: shown(latency.last),
        min: shown(latency.min),
        average: shown(latency.average),
        max: shown(latency.max),
        stdDev: shown(latency.stdDev),
      },
    }),
  };
}

/** The field manager of gateways, by which their writes are recognised. */
export const GATEWAY_MANAGER = 'submariner-gateway';

/**
 * Writes the Gateway object when its status differs from the last one that was written. A write that arrives late, as after a partition,
 * does not bring back an object that another gateway removed when it took over: it names the object that it is meant for.
 */
export function createGatewayWriter(client: Client, ref: { readonly namespace: string; readonly name: string }) {
  let written = '';
  let uid: string | undefined;
  const forget = () => {
    written = '';
    uid = undefined;
  };
  return {
    async write(status: GatewayStatus): Promise<void> {
      // A latency that moved by one step alone is not worth a write.
      const text = JSON.stringify({
        ...status,
        connections: status.connections?.map(({ latencyRTT, ...rest }) => ({ ...rest, average: latencyRTT?.average })),
      });
      if (text === written) return;
      const metadata = { ...ref, ...(uid !== undefined && { uid }) };
      const object = { apiVersion: Gateway.apiVersion, kind: 'Gateway', metadata, status };
      try {
        const applied = await client.apply(Gateway, object, { fieldManager: GATEWAY_MANAGER, force: true });
        uid = applied.metadata.uid;
        written = text;
      } catch (error) {
        if (!isConflict(error)) throw error;
        // The object was removed, and is created by the next write, with the role that this gateway has then.
        forget();
      }
    },
    /** Another gateway may have taken this one for dead: then it is written again. */
    async check(): Promise<void> {
      try {
        await client.get(Gateway, ref);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        forget();
      }
    },
    async remove(): Promise<void> {
      try {
        await client.delete(Gateway, ref);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },
  };
}
