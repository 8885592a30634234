// The connections to one server under one identity: a bounded pool for requests, and an unbounded one for watches, which
// would otherwise occupy the bounded one for minutes each. When the TLS material changes, both are replaced; the old ones
// finish what they carry and close.
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { buildConnector, Dispatcher, Pool } from 'undici';
import type { TlsMaterial } from './credentials.ts';
import { undiciParts, undiciProxyAgent } from './undici.ts';

export interface ConnectionsOptions {
  /** Scheme, host and port. */
  origin: string;
  /** http, https or socks5. */
  proxyUrl?: string;
  /** Concurrent requests that are not watches; more wait their turn. */
  connections: number;
  connectTimeoutMs: number;
  maxResponseBytes: number;
}

export interface Connections {
  /** For each purpose the dispatcher that uses this material. */
  for(tls: TlsMaterial, purpose: 'request' | 'watch'): Dispatcher;
  /** Whether this error came up before the connection existed, so that nothing can have been sent over it. */
  isConnectError(error: unknown): boolean;
  /** Cuts everything. */
  close(): Promise<void>;
}

export function createConnections(options: ConnectionsOptions): Connections {
  const connectErrors = new WeakSet<object>();
  // Every pair that is not closed yet: the last one is in use, those before it are draining.
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

// The transport has its own time-outs on the injected clock, so undici's are off. HTTP/2 is off: one connection that many
// watches share stalls them together when it stalls, and its client has leaked for others.
const POOL: Pool.Options = {
  allowH2: false,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  // Below the shortest idle time-out that is usual for load balancers (60 s): a connection that the other side closes
  // just when a request goes out is the one failure that cannot be distinguished from a lost answer.
  keepAliveTimeout: 50_000,
};

// A peer that is gone is noticed within 25 s: the first probe after 15 s, then ten probes by Node, one a second. What stands
// between and answers probes, but forwards nothing, is noticed by the limits of a request and of a watch.
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

/** Parsed once, not for every connection; throws what OpenSSL has against the material. */
export function contextOf({ ca, cert, key, insecure }: TlsMaterial): SecureContext {
  return createSecureContext({
    // Like kubectl, trust what the machine trusts when the cluster brings no authority of its own.
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
    // undici passes the host of the address as servername, which would win over the configured one.
    connect({ ...options, ...(serverName !== undefined && { servername: serverName }) }, (...result) => {
      if (result[0] !== null) connectErrors.add(result[0]);
      callback(...result);
    });
  };
}
