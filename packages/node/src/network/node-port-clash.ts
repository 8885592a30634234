// Node ports that another program of this machine holds, such as a second embedded cluster. A port that the API server drew is replaced by
// one that can be listened on. A port that the user asked for stays, and the Service reports the reason.
import {
  type Condition,
  formatTime,
  isConflict,
  isInvalid,
  type Random,
  refOf,
  Service,
  type ServicePort,
} from '@capstan/kube';
import type { Toolkit } from '../controller/toolkit.ts';

/** The range from which the API server draws node ports. */
const FIRST_PORT = 30_000;
const PORTS = 2_768;
const ATTEMPTS = 50;

export const NODE_PORTS_CONDITION = 'capstan.dev/NodePortsAvailable';

export interface NodePortClash {
  readonly protocol: string;
  readonly nodePort: number;
}

/** Finds a port that can be listened on. */
export type ProbePort = (protocol: string, port: number) => Promise<boolean>;

/** Gives drawn ports another number, and reports the clashes that remain in the status. */
export async function resolveClashes(
  tools: Pick<Toolkit, 'client' | 'write' | 'clock' | 'random' | 'manager'>,
  cached: Service,
  clashes: readonly NodePortClash[],
  probe: ProbePort,
): Promise<void> {
  const wasReported = (cached.status?.conditions ?? []).some(({ type }) => type === NODE_PORTS_CONDITION);
  if (clashes.length === 0 && !wasReported) return;
  // Caches keep no managed fields.
  const service = await tools.client.find(Service, refOf(cached));
  if (!service) return;
  const isClash = ({ protocol = 'TCP', nodePort }: ServicePort) =>
    clashes.some((clash) => clash.protocol === protocol && clash.nodePort === nodePort);
  const ports = service.spec?.ports ?? [];
  const drawn = ports.filter((port) => isClash(port) && !isRequested(service, port, tools.manager));
  const requested = ports.filter((port) => isClash(port) && !drawn.includes(port));
  await report(tools, service, requested);
  for (let attempt = 0; drawn.length > 0 && attempt < ATTEMPTS; attempt += 1) {
    const changed: ServicePort[] = [];
    for (const port of ports) {
      changed.push(drawn.includes(port) ? { ...port, nodePort: await freePort(port, tools.random, probe) } : port);
    }
    try {
      const { resourceVersion } = service.metadata;
      await tools.write.patch(Service, refOf(service), 'merge', {
        metadata: { resourceVersion },
        spec: { ports: changed },
      });
      return;
    } catch (error) {
      // The Service has moved on, and is looked at again.
      if (isConflict(error)) return;
      // Another Service of this cluster has the port.
      if (!isInvalid(error)) throw error;
    }
  }
}

async function freePort({ protocol = 'TCP' }: ServicePort, random: Random, probe: ProbePort): Promise<number> {
  let port = FIRST_PORT;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    port = FIRST_PORT + Math.floor(random() * PORTS);
    if (await probe(protocol, port)) break;
  }
  return port;
}

/** Whether a field manager other than ourselves has set the node port: the API server draws ports for no manager. */
function isRequested({ metadata }: Service, { port, protocol = 'TCP' }: ServicePort, own: string): boolean {
  const key = `k:${JSON.stringify({ port, protocol })}`;
  return (metadata.managedFields ?? []).some(({ manager, fieldsV1 }) => {
    const fields = fieldsV1 as Fields | undefined;
    return manager !== own && fields?.['f:spec']?.['f:ports']?.[key]?.['f:nodePort'] !== undefined;
  });
}

interface Fields {
  [edge: string]: Fields | undefined;
}

async function report(
  tools: Pick<Toolkit, 'write' | 'clock'>,
  service: Service,
  requested: readonly ServicePort[],
): Promise<void> {
  const conditions = service.status?.conditions ?? [];
  const before = conditions.find(({ type }) => type === NODE_PORTS_CONDITION);
  const others = conditions.filter((condition) => condition !== before);
  const message = requested
    .map(
      ({ nodePort, protocol = 'TCP' }) =>
        `node port ${nodePort} (${protocol}) is in use on this machine, by another program or by a Service of another cluster; free it there, or choose another port`,
    )
    .join('; ');
  if ((before?.message ?? '') === message) return;
  const condition: Condition = {
    type: NODE_PORTS_CONDITION,
    status: 'False',
    reason: 'PortInUse',
    message,
    lastTransitionTime: before?.lastTransitionTime ?? formatTime(tools.clock.now()),
    ...(service.metadata.generation !== undefined && { observedGeneration: service.metadata.generation }),
  };
  const next = message === '' ? others : [...others, condition];
  const status = { conditions: next.length === 0 ? null : next };
  await tools.write.patch(Service, refOf(service), 'merge', { status }, 'status');
}
