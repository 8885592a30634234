// The xDS server as a sink: every replica serves. Pieces come in, resources go out, and what Envoys accepted is read back.
import type { Clock } from '@capstan/kube';
import { type Sink, type SinkContext, sink } from '@capstan/reconcile';
import { type Assembly, createAssembly } from '../routing/assembly/assembly.ts';
import type { Piece } from '../routing/assembly/piece.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import {
  createResourceStore,
  type NodeReport,
  type ResourceStore,
  startXdsServer,
  type XdsServer,
} from '../xds/index.ts';
import { type RouteGraph, SETTINGS } from './pieces.ts';
import { ROUTE_READS } from './read-lookup.ts';

export interface XdsSinkOptions {
  readonly graph: RouteGraph;
  /** Takes the place of what the configuration says, for tests and for `capstan up`. */
  readonly listen?: { readonly address: string; readonly port: number };
  /** Of the server; by default that of the runtime. Tests with a real Envoy need real time here. */
  readonly clock?: Clock;
  /** Called when the server listens, also after it was moved. */
  onListening?(server: XdsServer, store: ResourceStore): void;
}

export function xdsSink(options: XdsSinkOptions): Sink<Piece, NodeReport> {
  const { graph } = options;
  return sink<Piece, NodeReport>({
    name: 'xds',
    of: graph.pieces,
    keys: graph.keys,
    reads: ROUTE_READS,
    lease: 'none',
    version: ({ id }) => id,
    disturbs: ({ before, after }) =>
      (before?.chain === undefined) === (after?.chain === undefined) ? undefined : 'drains a listener',
    open(context) {
      const server = new Server(context, options);
      return { take: ({ changes }) => server.take(changes), close: () => server.close() };
    },
  });
}

class Server {
  readonly #context: SinkContext<Piece, NodeReport>;
  readonly #options: XdsSinkOptions;
  readonly #store = createResourceStore();
  #assembly: Assembly | undefined;
  #server: XdsServer | undefined;
  #place = '';

  constructor(context: SinkContext<Piece, NodeReport>, options: XdsSinkOptions) {
    this.#context = context;
    this.#options = options;
  }

  async take(changes: readonly { readonly key: string; readonly after: Piece | undefined }[]): Promise<void> {
    const configured = changes.find(({ key }) => key === SETTINGS)?.after?.settings;
    if (configured && this.#assembly) this.#store.take(this.#assembly.configure(configured));
    const settings = configured ?? this.#context.current().get(SETTINGS)?.value.settings;
    if (!settings) return;
    this.#assembly ??= createAssembly(settings);
    this.#store.take(this.#assembly.take(changes.filter(({ key }) => key !== SETTINGS)));
    if (configured) await this.#serve(configured);
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  /** Opens the socket, or moves it when the configuration names another. */
  async #serve({ xdsServer }: RoutingSettings): Promise<void> {
    const { address, port } = this.#options.listen ?? xdsServer;
    const place = JSON.stringify([address, port, xdsServer.insecure, xdsServer.tls]);
    if (place === this.#place) return;
    await this.#server?.close();
    this.#server = await startXdsServer({
      store: this.#store,
      address,
      port,
      ...(!xdsServer.insecure && { tls: xdsServer.tls }),
      clock: this.#options.clock ?? this.#context.clock,
      logger: this.#context.logger,
      onReport: (report) => this.#context.report(report.node, report.streams > 0 ? report : undefined),
    });
    this.#place = place;
    this.#options.onListening?.(this.#server, this.#store);
  }
}
