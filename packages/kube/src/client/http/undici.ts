// The part of undici that the transport uses. The package's entry loads everything it has (fetch, web sockets, caches,
// mocks): a hundred files and thirteen megabytes of memory in each process, of which a pool of connections needs a fraction. The
// files behind it may move in any release, so the version is exact. The build bundles what is required here (scripts/build/bundle.ts).
import { createRequire } from 'node:module';
import type * as Undici from 'undici';

export interface UndiciParts {
  readonly Pool: typeof Undici.Pool;
  readonly buildConnector: typeof Undici.buildConnector;
}

/** A pool of connections and what connects it. */
export function undiciParts(): UndiciParts {
  return {
    Pool: require('undici/lib/dispatcher/pool.js') as typeof Undici.Pool,
    buildConnector: require('undici/lib/core/connect.js') as typeof Undici.buildConnector,
  };
}

/** Only connections through a proxy need it. It opens tunnels by a method that the package's entry adds to every dispatcher. */
export function undiciProxyAgent(): typeof Undici.ProxyAgent {
  const Dispatcher = require('undici/lib/dispatcher/dispatcher.js') as typeof Undici.Dispatcher;
  Object.assign(Dispatcher.prototype, require('undici/lib/api/index.js'));
  return require('undici/lib/dispatcher/proxy-agent.js') as typeof Undici.ProxyAgent;
}

const require = createRequire(import.meta.url);
