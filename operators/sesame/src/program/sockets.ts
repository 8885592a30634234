// Sesame's own HTTP servers (health, metrics, debug) as a sink: one key for each socket, so that a change of an address opens the new
// socket before it closes the old one, and two servers of one address share it.
import { type DerivationDefinition, type Derived, derivation, type Sink, sink } from '@capstan/reconcile';
import type { EffectiveConfiguration } from '../configuration/index.ts';
import { boundAddress } from '../xds/index.ts';
import { type Answer, type BoundServer, bindServer } from './http-server.ts';
import type { InForce, Reads } from './in-force.ts';

export type Role = 'health' | 'metrics' | 'debug';

export interface Socket {
  readonly address: string;
  readonly port: number;
  readonly roles: readonly Role[];
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string } | undefined;
}

/** The sockets that a configuration asks for, by `address:port`. */
export function socketsOf({ health, metrics, debug }: EffectiveConfiguration): ReadonlyMap<string, Socket> {
  const sockets = new Map<string, Socket>();
  const add = (role: Role, { address, port, tls }: Omit<Socket, 'roles'>) => {
    const key = `${address}:${port}`;
    const roles = [...(sockets.get(key)?.roles ?? []), role];
    sockets.set(key, { address, port, roles, ...((tls?.certFile ?? '') === '' ? {} : { tls }) });
  };
  add('health', health);
  add('metrics', metrics);
  add('debug', debug);
  return sockets;
}

export interface SocketReport {
  /** With the port that was found. */
  readonly listening: string;
}

export interface SocketsOptions {
  /** The address that a wildcard or loopback address of the configuration means on this machine. */
  readonly bindAddress?: string | undefined;
  readonly inForce: Derived<InForce>;
  readonly reads: Reads;
  /** Answers a request for a role; undefined for a path that it does not have. */
  answer(
    role: Role,
    request: { path: string; query: URLSearchParams; accept: string | undefined },
  ): Promise<Answer | undefined>;
}

const configurationOf = ({ configuration }: InForce) => configuration;

export function socketsSink({ inForce, reads, answer, bindAddress }: SocketsOptions): {
  sink: Sink<Socket, SocketReport>;
  keys: DerivationDefinition<readonly string[]>;
} {
  const keys = derivation<readonly string[]>({
    name: 'socket-keys',
    compute: ({ read }) => [...socketsOf(read.derived(inForce, '', configurationOf)).keys()],
  });
  const of = derivation<Socket | undefined>({
    name: 'socket',
    compute: ({ key, read }) => socketsOf(read.derived(inForce, '', configurationOf)).get(key),
  });
  const definition = sink<Socket, SocketReport>({
    name: 'sockets',
    of: of as Derived<Socket>,
    keys,
    reads,
    lease: 'none',
    disturbs: () => 'rebinds a socket of Sesame',
    open({ report, logger, signal }) {
      const bound = new Map<string, { server: BoundServer; socket: Socket }>();
      const close = async (key: string) => {
        const { server } = bound.get(key) ?? {};
        bound.delete(key);
        report(key, undefined);
        await server?.close();
      };
      return {
        async take({ changes }) {
          const failed = new Map<string, unknown>();
          const gone = changes.filter(({ after }) => after === undefined).map(({ key }) => key);
          for (const { key, after } of changes) {
            if (after === undefined) continue;
            // The handlers of the socket, or its certificates, changed: the socket itself may stay open only with the same TLS.
            if (bound.has(key)) await close(key);
            // An old socket of the same port would be in the way of the new one.
            for (const other of gone) if (bound.get(other)?.socket.port === after.port) await close(other);
            try {
              const place = { ...after, address: boundAddress(after.address, bindAddress) };
              const server = await bindServer(place, (request) => firstAnswer(after.roles, request, answer), {
                logger,
                signal,
              });
              bound.set(key, { server, socket: after });
              report(key, { listening: server.address });
              logger.info('listening', { address: server.address, roles: after.roles });
            } catch (error) {
              failed.set(key, error);
            }
          }
          for (const key of gone) await close(key);
          return { failed };
        },
        async close() {
          for (const key of bound.keys()) await close(key);
        },
      };
    },
  });
  return { sink: definition, keys };
}

async function firstAnswer(
  roles: readonly Role[],
  request: Parameters<SocketsOptions['answer']>[1],
  answer: SocketsOptions['answer'],
): Promise<Answer | undefined> {
  for (const role of roles) {
    const found = await answer(role, request);
    if (found !== undefined) return found;
  }
  return undefined;
}
