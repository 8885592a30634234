// The part of undici that the transport uses. The package's front door loads everything it has (fetch, web sockets, caches,
// mocks): a hundred files and thirteen megabytes of memory in each process, of which a pool of connections needs a third. The
// files behind it are not promised to stay where they are; the version is locked, and where they are not found the front
// door is taken, which costs memory and nothing else.
import { createRequire } from 'node:module';
import type * as Undici from 'undici';

export interface UndiciParts {
  readonly Pool: typeof Undici.Pool;
  readonly buildConnector: typeof Undici.buildConnector;
}

/** A pool of connections and what connects it. */
export function undiciParts(): UndiciParts {
  try {
    const Dispatcher = require('undici/lib/dispatcher/dispatcher.js') as { prototype: object };
    const parts = {
      Pool: require('undici/lib/dispatcher/pool.js') as typeof Undici.Pool,
      buildConnector: require('undici/lib/core/connect.js') as typeof Undici.buildConnector,
    };
    // Dispatchers get their methods for callers (`request`) from outside; the front door does the same with all of them.
    const request: unknown = require('undici/lib/api/api-request.js');
    if (!('request' in Dispatcher.prototype)) Object.assign(Dispatcher.prototype, { request });
    return parts;
  } catch {
    return undici();
  }
}

/** All of it: who goes through a proxy needs more of its files than not. */
export function undici(): typeof Undici {
  return require('undici') as typeof Undici;
}

const require = createRequire(import.meta.url);
