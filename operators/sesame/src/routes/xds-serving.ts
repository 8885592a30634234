// The resources that are served, and the socket where they are. It is there before the first snapshot of the routes: clients connect
// meanwhile, and a kept snapshot is served to them at once.
import type { Clock, Logger } from '@capstan/kube';
import { reasonOf } from '@capstan/kube';
import type { KeptSnapshot } from '../kept/kept-snapshot.ts';
import type { RoutingSettings } from '../routing/settings.ts';
import {
  boundAddress,
  createResourceStore,
  type NodeReport,
  type Refused,
  type ResourceStore,
  startXdsServer,
  type XdsServer,
} from '../xds/index.ts';

export interface XdsServingOptions {
  /** Replaces the address of the configuration, for tests and for `capstan up`. */
  readonly listen?: { readonly address: string; readonly port: number } | undefined;
  /** The address that a wildcard or loopback address of the configuration means on this machine. */
  readonly bindAddress?: string | undefined;
  /** The snapshot of the process before; none by default. */
  readonly kept?: KeptSnapshot | undefined;
  /** Returns the earlier refusals of Envoys; none by default. */
  refused?(): Promise<Refused>;
  /** Called when the server listens, also after it was moved. */
  onListening?(server: XdsServer, store: ResourceStore): void;
}

/** The time and the log of a server. */
export interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

export class XdsServing {
  readonly store = createResourceStore();
  /** Called with each report of a client. */
  onReport: (report: NodeReport) => void = () => {};
  readonly #options: XdsServingOptions;
  #server: XdsServer | undefined;
  #place: { readonly key: string; readonly port: number } | undefined;
  #moving: Promise<void> = Promise.resolve();
  #isClosed = false;
  #isTaken = false;
  #responses = 0;

  constructor(options: XdsServingOptions) {
    this.#options = options;
  }

  get isListening(): boolean {
    return this.#server !== undefined;
  }

  /** Reports whether a client was sent a response since the previous call. */
  hasServed(): boolean {
    const count = this.#server?.responseCount ?? 0;
    const hasServed = count !== this.#responses;
    this.#responses = count;
    return hasServed;
  }

  /** Returns itself to its only user, and undefined to any other. */
  taken(): this | undefined {
    if (this.#isTaken || this.#isClosed) return undefined;
    this.#isTaken = true;
    return this;
  }

  /** Listens before anything is known. An error is that of the first snapshot, too, which is reported. */
  async begin(settings: RoutingSettings, surroundings: Surroundings): Promise<void> {
    const { kept } = this.#options;
    await kept?.restore(this.store);
    kept?.follow(this.store);
    try {
      await this.serve(settings, surroundings);
    } catch (error) {
      surroundings.logger.warn('xDS is not served yet', { reason: reasonOf(error) });
    }
  }

  /** Opens the socket, or moves it when the configuration names another: the new one first, unless both have one port. */
  serve(settings: RoutingSettings, surroundings: Surroundings): Promise<void> {
    const moved = this.#moving.then(() => (this.#isClosed ? undefined : this.#move(settings, surroundings)));
    this.#moving = moved.catch(() => undefined);
    return moved;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#moving;
    await this.#stop();
    await this.#options.kept?.close();
  }

  async #move({ xdsServer }: RoutingSettings, { clock, logger }: Surroundings): Promise<void> {
    const { address, port } = this.#options.listen ?? xdsServer;
    const key = JSON.stringify([address, port, xdsServer.insecure, xdsServer.tls]);
    if (key === this.#place?.key) return;
    if (port === this.#place?.port) await this.#stop();
    const refused = await this.#options.refused?.();
    const server = await startXdsServer({
      store: this.store,
      ...(refused && { refused }),
      address: boundAddress(address, this.#options.bindAddress),
      port,
      ...(!xdsServer.insecure && { tls: xdsServer.tls }),
      clock,
      logger,
      onReport: (report) => this.onReport(report),
    });
    await this.#stop();
    this.#server = server;
    this.#place = { key, port };
    this.#options.onListening?.(server, this.store);
  }

  async #stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#place = undefined;
    await server?.close();
  }
}
