// Who answers for a Service's port now: its ready endpoints; when there are none, those that still serve while they go.
import { type EndpointSlice, type InformerView, keyOf } from '@capstan/kube';
import { indexBy } from '../controller/index-by.ts';

export interface Backend {
  address: string;
  port: number;
}

export interface Backends {
  /** In the order in which they are tried by turns. */
  of(serviceKey: string, portName: string): readonly Backend[];
}

export function createBackends(slices: InformerView<EndpointSlice>): Backends {
  const index = indexBy(slices, ({ metadata }) => {
    const name = metadata.labels?.['kubernetes.io/service-name'];
    return name === undefined ? undefined : keyOf({ namespace: metadata.namespace ?? '', name });
  });
  return {
    of(serviceKey, portName) {
      const ready: Backend[] = [];
      const leaving: Backend[] = [];
      for (const { ports, endpoints, addressType } of index.get(serviceKey)) {
        // Kubernetes writes null for an empty list.
        const port = (ports ?? []).find(({ name = '' }) => name === portName)?.port;
        if (port === undefined || addressType === 'FQDN') continue;
        for (const { addresses, conditions } of endpoints ?? []) {
          const [address] = addresses;
          if (address === undefined) continue;
          // An absent condition means ready.
          if (conditions?.ready !== false) ready.push({ address, port });
          else if (conditions.serving === true && conditions.terminating === true) leaving.push({ address, port });
        }
      }
      return ready.length > 0 ? ready : leaving;
    },
  };
}

/** Chooses by turns; with affinity, a client gets the backend that it had, as long as that is there. */
export function createChooser(clock: { now(): number }, affinityMs: number | undefined) {
  const chosen = new Map<string, { backend: Backend; until: number }>();
  let turn = 0;
  /** The backends in the order in which they are to be tried for this client. */
  return function order(backends: readonly Backend[], client: string): Backend[] {
    if (backends.length === 0) return [];
    const now = clock.now();
    const known = affinityMs === undefined ? undefined : chosen.get(client);
    const same = known && known.until > now ? backends.findIndex((one) => isSame(one, known.backend)) : -1;
    const first = same >= 0 ? same : turn++ % backends.length;
    const ordered = [...backends.slice(first), ...backends.slice(0, first)];
    const [backend] = ordered;
    if (affinityMs !== undefined && backend !== undefined) chosen.set(client, { backend, until: now + affinityMs });
    return ordered;
  };
}

function isSame(a: Backend, b: Backend): boolean {
  return a.address === b.address && a.port === b.port;
}
