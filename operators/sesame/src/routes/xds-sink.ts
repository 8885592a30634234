// The xDS server as a sink: every replica serves. Pieces come in, resources go out, and the acknowledgements of Envoys are read back.
import type { Clock } from '@capstan/kube';
import { type ReadDeclaration, type Sink, type SinkContext, type SinkResult, sink } from '@capstan/reconcile';
import { type Assembly, createAssembly } from '../routing/assembly/assembly.ts';
import type { Piece } from '../routing/assembly/piece.ts';
import { ROUTE_READS } from '../routing/lookup.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import {
  boundAddress,
  createResourceStore,
  type NodeReport,
  type Refused,
  type Rejection,
  type ResourceStore,
  startXdsServer,
  type XdsServer,
} from '../xds/index.ts';
import { xdsEffects } from './effects.ts';
import { type RouteGraph, SETTINGS } from './pieces.ts';

export interface XdsSinkOptions {
  readonly graph: RouteGraph;
  /** Kinds that the graph reads besides those of HTTPProxies and Ingresses. */
  readonly reads?: readonly ReadDeclaration[];
  /** Replaces the address of the configuration, for tests and for `capstan up`. */
  readonly listen?: { readonly address: string; readonly port: number };
  /** The address that a wildcard or loopback address of the configuration means on this machine. */
  readonly bindAddress?: string | undefined;
  /** The clock of the server; by default that of the runtime. Tests with a real Envoy need real time here. */
  readonly clock?: Clock;
  /** Returns the earlier refusals of Envoys; none by default. */
  refused?(): Promise<Refused>;
  /** Asks the process that serves, where this one does not. */
  readonly acknowledgements?: NonNullable<Sink<Piece>['acknowledgements']>;
  /** Called when the server listens, also after it was moved. */
  onListening?(server: XdsServer, store: ResourceStore): void;
  /** Called after each change of the served resources, with the time that it took. */
  onUpdated?(ms: number): void;
}

/** A client with the resources that it refuses. The graph does not depend on the answers of clients. */
export type RefusingNode = Pick<NodeReport, 'node' | 'rejections'>;

export function xdsSink(options: XdsSinkOptions): Sink<Piece, RefusingNode> {
  const { graph } = options;
  return sink<Piece, RefusingNode>({
    name: 'xds',
    of: graph.pieces,
    keys: graph.keys,
    reads: [...ROUTE_READS, ...(options.reads ?? [])],
    lease: 'none',
    version: ({ id }) => id,
    effects: xdsEffects,
    ...(options.acknowledgements && { acknowledgements: options.acknowledgements }),
    open(context) {
      const server = new Server(context, options);
      return { take: ({ changes }) => server.take(changes), close: () => server.close() };
    },
  });
}

class Server {
  readonly #context: SinkContext<Piece, RefusingNode>;
  readonly #options: XdsSinkOptions;
  readonly #store = createResourceStore();
  #assembly: Assembly | undefined;
  #server: XdsServer | undefined;
  /** The reported refusals, by client. */
  readonly #refusing = new Map<string, NodeReport['rejections']>();
  #place: { readonly key: string; readonly port: number } | undefined;

  constructor(context: SinkContext<Piece, RefusingNode>, options: XdsSinkOptions) {
    this.#context = context;
    this.#options = options;
  }

  async take(
    changes: readonly { readonly key: string; readonly after: Piece | undefined }[],
  ): Promise<SinkResult | undefined> {
    const started = this.#context.clock.now();
    const changed = changes.find(({ key }) => key === SETTINGS)?.after;
    const configured = changed?.settings;
    if (configured && this.#assembly) this.#store.take(this.#assembly.configure(configured, changed.authorization));
    const { settings, authorization } = changed ?? this.#context.current().get(SETTINGS)?.value ?? {};
    if (!settings) return undefined;
    this.#assembly ??= createAssembly(settings, authorization);
    this.#store.take(this.#assembly.take(changes.filter(({ key }) => key !== SETTINGS)));
    this.#options.onUpdated?.(this.#context.clock.now() - started);
    try {
      if (configured) await this.#serve(configured);
      return undefined;
    } catch (error) {
      // The resources are in place; only the socket is not.
      return { failed: new Map([[SETTINGS, error]]) };
    }
  }

  close(): Promise<void> {
    return this.#stop();
  }

  /** Opens the socket, or moves it when the configuration names another: the new one first, unless both have one port. */
  async #serve({ xdsServer }: RoutingSettings): Promise<void> {
    const { address, port } = this.#options.listen ?? xdsServer;
    const key = JSON.stringify([address, port, xdsServer.insecure, xdsServer.tls]);
    if (key === this.#place?.key) return;
    if (port === this.#place?.port) await this.#stop();
    const refused = await this.#options.refused?.();
    const server = await startXdsServer({
      store: this.#store,
      ...(refused && { refused }),
      address: boundAddress(address, this.#options.bindAddress),
      port,
      ...(!xdsServer.insecure && { tls: xdsServer.tls }),
      clock: this.#options.clock ?? this.#context.clock,
      logger: this.#context.logger,
      onReport: (report) => this.#report(report),
    });
    await this.#stop();
    this.#server = server;
    this.#place = { key, port };
    this.#options.onListening?.(server, this.#store);
  }

  /** A thousand clients that acknowledge an edit change nothing: only new refusals start a wave. */
  #report({ node, streams, rejections: all }: NodeReport): void {
    const rejections = streams > 0 ? all : [];
    const before = this.#refusing.get(node) ?? [];
    if (rejections.length === before.length && rejections.every((each, at) => isSameRejection(each, before[at])))
      return;
    if (rejections.length > 0) this.#refusing.set(node, rejections);
    else this.#refusing.delete(node);
    this.#context.report(node, rejections.length > 0 ? { node, rejections } : undefined);
  }

  async #stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#place = undefined;
    await server?.close();
  }
}

function isSameRejection(left: Rejection, right: Rejection | undefined): boolean {
  return left.key === right?.key && left.version === right.version && left.message === right.message;
}
