// The connections to one server under one identity. Requests use a bounded pool. Watches use an unbounded pool, because they would occupy
// the bounded one for minutes each. When the TLS material changes, both pools are replaced; the old ones finish their requests and close.
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { buildConnector, Dispatcher, Pool } from 'undici';
import type { TlsMaterial } from './credentials.ts';
import { undiciParts, undiciProxyAgent } from './undici.ts';

export interface ConnectionsOptions {
  /** Scheme, host and port. */
  origin: string;
  /** http, https or socks5. */
  proxyUrl?: string;
  /** The limit of concurrent requests without watches. Further requests wait. */
  connections: number;
  connectTimeoutMs: number;
  maxResponseBytes: number;
}

export interface Connections {
  /** Returns the dispatcher for this material and purpose. */
  for(tls: TlsMaterial, purpose: 'request' | 'watch'): Dispatcher;
  /** The error occurred before the connection existed, so that nothing was sent over it. */
  isConnectError(error: unknown): boolean;
  /** Closes all connections at once. */
  close(): Promise<void>;
}

export function createConnections(options: ConnectionsOptions): Connections {
  const connectErrors = new WeakSet<object>();
  // All pairs that are not closed. The last one is in use, and those before it are draining.
  const pairs = new Set<Pair>();
  let inUse: Pair | undefined;

  function open(tls: TlsMaterial): Pair {
    const secureContext = options.origin.startsWith('https:') ? contextOf(tls) : undefined;
    const dispatcher = (more: Pool.Options) => {
      const pool = { ...POOL, ...more, connectTimeout: options.connectTimeoutMs };
      const connect = connectOptions(tls, secureContext, options.connectTimeoutMs);
      if (options.proxyUrl !== undefined) {
        const ProxyAgent = undiciProxyAgent();
        return new ProxyAgent({
          ...pool,
          uri: options.proxyUrl,
          requestTls: connect,
          proxyTls: { allowH2: false, ...KEEP_ALIVE },
        });
      }
      const { Pool, buildConnector } = undiciParts();
      return new Pool(options.origin, { ...pool, connect: marking(buildConnector(connect), tls, connectErrors) });
    };
    const pair: Pair = {
      tls,
      request: dispatcher({ connections: options.connections, maxResponseSize: options.maxResponseBytes }),
      watch: dispatcher({ connections: null }),
    };
    pairs.add(pair);
    return pair;
  }

  function retire(pair: Pair): void {
    void Promise.allSettled([pair.request.close(), pair.watch.close()]).then(() => pairs.delete(pair));
  }

  return {
    for(tls, purpose) {
      if (inUse?.tls !== tls) {
        const before = inUse;
        inUse = open(tls);
        if (before !== undefined) retire(before);
      }
      return inUse[purpose];
    },
    isConnectError: (error) => typeof error === 'object' && error !== null && connectErrors.has(error),
    async close() {
      await Promise.allSettled([...pairs].flatMap((pair) => [pair.request.destroy(), pair.watch.destroy()]));
      pairs.clear();
    },
  };
}

interface Pair {
  tls: TlsMaterial;
  request: Dispatcher;
  watch: Dispatcher;
}

// The transport has its own time-outs on the injected clock, so undici's are disabled. HTTP/2 is disabled for two reasons: many watches on
// one connection would stall together, and undici's HTTP/2 client has had memory leaks.
const POOL: Pool.Options = {
  allowH2: false,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  // This is below the shortest usual idle time-out of load balancers (60 s). If the peer closes a connection just when a request is sent,
  // the failure looks like a lost answer.
  keepAliveTimeout: 50_000,
};

// A dead peer is noticed within 25 s: the first probe comes after 15 s, then Node sends ten probes, one per second. A middlebox that
// answers probes but forwards nothing is noticed by the time-outs of requests and watches.
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 15_000 };

function connectOptions(
  tls: TlsMaterial,
  secureContext: SecureContext | undefined,
  timeout: number,
): buildConnector.BuildOptions {
  return {
    allowH2: false,
    timeout,
    ...KEEP_ALIVE,
    ...(secureContext && { secureContext }),
    ...(tls.serverName !== undefined && { servername: tls.serverName }),
    ...(tls.insecure && { rejectUnauthorized: false }),
  };
}

/** Parses the material once for all connections. Throws OpenSSL's error if the material is invalid. */
export function contextOf({ ca, cert, key, insecure }: TlsMaterial): SecureContext {
  return createSecureContext({
    // Like kubectl, trust the authorities of the machine if the cluster has none of its own.
    ca: ca ?? (insecure ? [] : [...getCACertificates('default'), ...getCACertificates('system')]),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  });
}

function marking(
  connect: buildConnector.connector,
  { serverName }: TlsMaterial,
  connectErrors: WeakSet<object>,
): buildConnector.connector {
  return (options, callback) => {
    // undici passes the host of the address as servername, which would override the configured one.
    connect({ ...options, ...(serverName !== undefined && { servername: serverName }) }, (...result) => {
      if (result[0] !== null) connectErrors.add(result[0]);
      callback(...result);
    });
  };
}
