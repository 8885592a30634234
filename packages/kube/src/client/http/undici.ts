// The part of undici that the transport uses. The entry of the package loads everything (fetch, web sockets, caches, mocks): a hundred
// files and thirteen megabytes of memory in each process. A pool of connections needs a fraction of it. The inner files may move in any
// release, so the version is exact. The build bundles the files that are required here (scripts/build/bundle.ts).
import { createRequire } from 'node:module';
import type * as Undici from 'undici';

export interface UndiciParts {
  readonly Pool: typeof Undici.Pool;
  readonly buildConnector: typeof Undici.buildConnector;
}

/** Returns the pool of connections and the connector. */
export function undiciParts(): UndiciParts {
  return {
    Pool: require('undici/lib/dispatcher/pool.js') as typeof Undici.Pool,
    buildConnector: require('undici/lib/core/connect.js') as typeof Undici.buildConnector,
  };
}

/**
 * Returns the proxy agent, which only connections through a proxy need. It opens tunnels by a method that the package's entry adds to every
 * dispatcher.
 */
export function undiciProxyAgent(): typeof Undici.ProxyAgent {
  const Dispatcher = require('undici/lib/dispatcher/dispatcher.js') as typeof Undici.Dispatcher;
  Object.assign(Dispatcher.prototype, require('undici/lib/api/index.js'));
  return require('undici/lib/dispatcher/proxy-agent.js') as typeof Undici.ProxyAgent;
}

const require = createRequire(import.meta.url);
