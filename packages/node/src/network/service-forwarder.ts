// The addresses of Services: it listens on each port of each Service at the Service's own address, and forwards connections to one of its
// endpoints. Addresses outside the loopback network are left alone: listening there is not possible.
import {
  type Client,
  type Clock,
  EndpointSlice,
  keyOfObject,
  type Logger,
  type Random,
  reasonOf,
  Service,
  type ServicePort,
} from '@capstan/kube';
import { runController, source } from '../controller/controller.ts';
import { createToolkit } from '../controller/toolkit.ts';
import { isInRange } from './address-pool.ts';
import { type Backends, createBackends, createChooser } from './backends.ts';
import { balancedAddress, publishAddress, requestedAddress } from './load-balancer.ts';
import { type NodePortClash, resolveClashes } from './node-port-clash.ts';
import { type Forward, forwardTcp } from './tcp-forward.ts';
import { forwardUdp } from './udp-forward.ts';

/** Where Services get their addresses; the API server allocates them. */
export const SERVICE_RANGE = '127.96.0.0/12';

export interface ForwarderOptions {
  client: Client;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Default 127.96.0.0/12. */
  range?: string;
  /** Where node ports are listened on; default 127.0.0.1, and null for nowhere. */
  nodeAddress?: string | null;
}

export interface Forwarder {
  /** Runs until the signal is aborted; settles when nothing is listened on any more. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

/** A port that was taken may be free again later. */
const RETRY_MS = 30_000;
const AFFINITY_SECONDS = 10_800;

/** The purpose of one listener. A change of any field needs another listener. */
interface Wanted {
  id: string;
  protocol: string;
  address: string;
  port: number;
  portName: string;
  affinityMs: number | undefined;
  isNodePort: boolean;
}

const isInUse = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';

export function createForwarder(options: ForwarderOptions): Forwarder {
  const { clock, range = SERVICE_RANGE, nodeAddress = '127.0.0.1' } = options;

  async function run(signal: AbortSignal): Promise<void> {
    const tools = createToolkit({ ...options, manager: 'kube-proxy' });
    const services = tools.cache(Service);
    const slices = tools.cache(EndpointSlice);
    const backends = createBackends(slices);
    /** Listeners by the Service's key, then by purpose. */
    const listeners = new Map<string, Map<string, Forward>>();

    async function close(key: string, keep: ReadonlySet<string> = new Set()): Promise<void> {
      const own = listeners.get(key);
      if (own === undefined) return;
      for (const [id, forward] of own) {
        if (keep.has(id)) continue;
        own.delete(id);
        await forward.close();
      }
      if (own.size === 0) listeners.delete(key);
    }

    const controller = {
      name: 'service-forwarder',
      concurrency: 4,
      sources: [source(tools, Service, (service) => [keyOfObject(service)]), source(tools, EndpointSlice, () => [])],
      async reconcile(key: string): Promise<number | undefined> {
        const service = services.get(key);
        const wanted = service === undefined ? [] : wantedOf(service, range, nodeAddress);
        await close(key, new Set(wanted.map(({ id }) => id)));
        if (service === undefined) return undefined;
        const own = listeners.get(key) ?? new Map<string, Forward>();
        listeners.set(key, own);
        let hasFailed = false;
        const clashes: NodePortClash[] = [];
        for (const one of wanted) {
          if (own.has(one.id)) continue;
          try {
            own.set(one.id, await open(one, key, backends));
          } catch (error) {
            if (one.isNodePort && isInUse(error)) {
              clashes.push({ protocol: one.protocol, nodePort: one.port });
            } else hasFailed = true;
            const remedy = one.port < 1024 ? '; ports below 1024 need root' : '';
            const note = `nothing can listen on ${one.address}:${one.port} (${one.protocol}): ${reasonOf(error)}${remedy}`;
            tools.event(service, { type: 'Warning', reason: 'AddressNotForwarded', note });
          }
        }
        await publishAddress(tools, service, hasFailed ? undefined : balancedAddress(service, range));
        await resolveClashes(tools, service, clashes, canListen);
        return hasFailed || clashes.length > 0 ? RETRY_MS : undefined;
      },
    };

    await Promise.all([tools.run(signal), runController(tools, controller, signal)]);
    for (const key of listeners.keys()) await close(key);
  }

  async function canListen(protocol: string, port: number): Promise<boolean> {
    const probe = { address: nodeAddress ?? '127.0.0.1', port, backends: () => [] };
    try {
      const forward = await (protocol === 'UDP' ? forwardUdp(probe, clock) : forwardTcp(probe));
      await forward.close();
      return true;
    } catch {
      return false;
    }
  }

  function open(wanted: Wanted, key: string, backends: Backends): Promise<Forward> {
    const order = createChooser(clock, wanted.affinityMs);
    const forward = {
      address: wanted.address,
      port: wanted.port,
      backends: (client: string) => order(backends.of(key, wanted.portName), client),
    };
    return wanted.protocol === 'UDP' ? forwardUdp(forward, clock) : forwardTcp(forward);
  }

  return { run };
}

function wantedOf({ spec }: Service, range: string, nodeAddress: string | null): Wanted[] {
  const timeout = spec?.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS;
  const affinityMs = spec?.sessionAffinity === 'ClientIP' ? timeout * 1000 : undefined;
  const make = (
    address: string,
    port: number,
    { protocol = 'TCP', name = '' }: ServicePort,
    isNodePort = false,
  ): Wanted[] => {
    if (protocol !== 'TCP' && protocol !== 'UDP') return [];
    const id = JSON.stringify([protocol, address, port, name, affinityMs]);
    return [{ id, protocol, address, port, portName: name, affinityMs, isNodePort }];
  };
  const own = (spec?.clusterIPs ?? [spec?.clusterIP ?? '']).filter((address) => isInRange(address, range));
  const addresses = [...new Set([...own, ...(requestedAddress(spec) ?? [])])];
  return (spec?.ports ?? []).flatMap((port) => [
    ...addresses.flatMap((address) => make(address, port.port, port)),
    ...(nodeAddress !== null && port.nodePort ? make(nodeAddress, port.nodePort, port, true) : []),
  ]);
}
