// Chooses the address of another gateway: the private one if the gateway answers there, else the public one. Both are asked, by the
// original's protocol. A gateway that does not answer is reached at the address in its Endpoint.
import { type Clock, type Logger, sleep } from '@capstan/kube';
import type { Cable } from '../../drivers/driver.ts';
import type { Location } from '../cable-engine.ts';
import type { Datagrams, OnDatagram } from './datagrams.ts';
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  decodeMessage,
  encodeMessage,
  type PeerAddress,
} from './message.ts';

export interface NatDiscovery {
  /** Chooses the address of a cable; at once where there is nothing to choose. */
  locate(cable: Cable): Promise<Location>;
  /** The address is asked for again the next time. */
  forget(cable: Pick<Cable, 'name'>): void;
  close(): void;
}

export interface NatDiscoveryOptions {
  readonly local: { readonly clusterID: string; readonly cableName: string; readonly privateIP: string };
  /** Opens the socket; called once. */
  readonly open: (onDatagram: OnDatagram) => Promise<Datagrams>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long an answer is waited for; default 60 s, as the original has it. */
  readonly timeoutMs?: number;
}

export const DISCOVERY_PORT = 4490;
const TIMEOUT_MS = 60_000;
const REPEAT_MS = 2000;
/** An answer from the private address is preferred if it comes so soon after one from the public address. */
const PREFER_PRIVATE_MS = 1000;

interface Search {
  readonly cable: Cable;
  readonly requests: Map<bigint, 'private' | 'public'>;
  readonly found: PromiseWithResolvers<Location>;
  publicly: Location | undefined;
}

export async function createNatDiscovery(options: NatDiscoveryOptions): Promise<NatDiscovery> {
  const { local, clock, logger, timeoutMs = TIMEOUT_MS } = options;
  const searches = new Map<string, Search>();
  const known = new Map<string, { readonly of: string; readonly location: Promise<Location> }>();
  let counter = BigInt(clock.now());
  const ended = new AbortController();
  const self = { clusterID: local.clusterID, endpointID: local.cableName };

  const datagrams = await options.open((data, from) => {
    const message = decodeMessage(data);
    if (message?.type === 'request') datagrams.send(encodeMessage(answer(message, from)), from);
    if (message?.type === 'response') take(message, from);
  });

  const answer = (request: DiscoveryRequest, from: PeerAddress): DiscoveryResponse => {
    const { sender, receiver, usingSource, usingDestination } = request;
    const base = {
      type: 'response' as const,
      number: request.number,
      sender: self,
      receiver: sender,
      receivedSource: from,
      isSourceTranslated: false,
      isSourcePortTranslated: false,
      isDestinationTranslated: false,
    };
    if (sender === undefined || receiver === undefined || usingSource === undefined || usingDestination === undefined)
      return { ...base, result: 'MALFORMED' };
    if (receiver.clusterID !== self.clusterID) return { ...base, result: 'UNKNOWN_DST_CLUSTER' };
    if (receiver.endpointID !== self.endpointID) return { ...base, result: 'UNKNOWN_DST_ENDPOINT' };
    const isSourceTranslated = usingSource.ip !== '' && usingSource.ip !== from.ip;
    const isSourcePortTranslated = usingSource.port !== from.port;
    const isDestinationTranslated = usingDestination.ip !== local.privateIP;
    const isTranslated = isSourceTranslated || isSourcePortTranslated || isDestinationTranslated;
    return {
      ...base,
      isSourceTranslated,
      isSourcePortTranslated,
      isDestinationTranslated,
      result: isTranslated ? 'NAT_DETECTED' : 'OK',
    };
  };

  const take = (response: DiscoveryResponse, from: PeerAddress) => {
    const search = searches.get(response.sender?.endpointID ?? '');
    const asked = search?.requests.get(response.number);
    if (search === undefined || asked === undefined) return;
    if (response.result !== 'OK' && response.result !== 'NAT_DETECTED') {
      logger.warn('NAT discovery was refused', { cable: search.cable.name, result: response.result });
      return;
    }
    const usingNAT = response.result === 'NAT_DETECTED';
    const { remotePrivateIP, remotePublicIP = '' } = search.cable;
    if (asked === 'private') {
      // Another host may have that address here.
      if (from.ip === remotePrivateIP) search.found.resolve({ remoteIP: remotePrivateIP, usingNAT });
    } else if (search.publicly === undefined) {
      const publicly = { remoteIP: remotePublicIP, usingNAT };
      search.publicly = publicly;
      void sleep(clock, PREFER_PRIVATE_MS, ended.signal).then(
        () => search.found.resolve(publicly),
        () => {},
      );
    }
  };

  const ask = (search: Search, way: 'private' | 'public') => {
    const { cable } = search;
    const ip = way === 'private' ? cable.remotePrivateIP : (cable.remotePublicIP ?? '');
    if (ip === '') return;
    const port = cable.remoteDiscoveryPort ?? 0;
    counter++;
    search.requests.set(counter, way);
    const request: DiscoveryRequest = {
      type: 'request',
      number: counter,
      sender: self,
      receiver: { clusterID: cable.cluster, endpointID: cable.name },
      usingSource: { ip: local.privateIP, port: datagrams.port },
      usingDestination: { ip, port },
    };
    datagrams.send(encodeMessage(request), { ip, port });
  };

  const search = async (cable: Cable): Promise<Location> => {
    const own: Search = { cable, requests: new Map(), found: Promise.withResolvers(), publicly: undefined };
    searches.set(cable.name, own);
    const over = new AbortController();
    const stop = AbortSignal.any([ended.signal, over.signal]);
    const asking = (async () => {
      for (const until = clock.now() + timeoutMs; clock.now() < until && !stop.aborted; ) {
        ask(own, 'private');
        ask(own, 'public');
        await sleep(clock, Math.min(REPEAT_MS, timeoutMs), stop).catch(() => {});
      }
      if (!stop.aborted) logger.warn('NAT discovery: no answer', { cable: cable.name, seconds: timeoutMs / 1000 });
      own.found.resolve({ remoteIP: cable.remoteIP, usingNAT: cable.usingNAT });
    })();
    try {
      return await own.found.promise;
    } finally {
      over.abort();
      if (searches.get(cable.name) === own) searches.delete(cable.name);
      await asking;
    }
  };

  return {
    locate(cable) {
      const { remotePublicIP = '', remotePrivateIP, remoteDiscoveryPort = 0 } = cable;
      if (remotePublicIP === '' || remotePublicIP === remotePrivateIP || remoteDiscoveryPort === 0)
        return Promise.resolve({ remoteIP: cable.remoteIP, usingNAT: cable.usingNAT });
      const of = `${remotePrivateIP} ${remotePublicIP} ${remoteDiscoveryPort}`;
      const before = known.get(cable.name);
      if (before?.of === of) return before.location;
      const location = search(cable);
      known.set(cable.name, { of, location });
      return location;
    },
    forget: ({ name }) => void known.delete(name),
    close() {
      ended.abort();
      datagrams.close();
    },
  };
}
