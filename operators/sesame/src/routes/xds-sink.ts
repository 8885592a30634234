// The xDS server as a sink: every replica serves. Pieces come in, resources go out, and the acknowledgements of Envoys are read back.
import { type Clock, equal } from '@capstan/kube';
import { type ReadDeclaration, type Sink, type SinkContext, type SinkResult, sink } from '@capstan/reconcile';
import type { Problem } from '../configuration/index.ts';
import { type Assembly, createAssembly } from '../routing/assembly/assembly.ts';
import type { Piece } from '../routing/assembly/piece.ts';
import { ROUTE_READS } from '../routing/lookup.ts';
import type { NodeReport, Rejection } from '../xds/index.ts';
import { xdsEffects } from './effects.ts';
import { type RouteGraph, SETTINGS } from './pieces.ts';
import { XdsServing, type XdsServingOptions } from './xds-serving.ts';

export interface XdsSinkOptions extends XdsServingOptions {
  readonly graph: RouteGraph;
  /** Kinds that the graph reads besides those of HTTPProxies and Ingresses. */
  readonly reads?: readonly ReadDeclaration[];
  /** The clock of the server; by default that of the runtime. Tests with a real Envoy need real time here. */
  readonly clock?: Clock;
  /** Asks the process that serves, where this one does not. */
  readonly acknowledgements?: NonNullable<Sink<Piece>['acknowledgements']>;
  /** The place where the resources are served, which may be there before the sink is; by default the sink has its own. */
  readonly serving?: XdsServing;
  /** Called after each change of the served resources, with the time that it took. */
  onUpdated?(ms: number): void;
}

/** A client with the resources that it refuses. The graph does not depend on the answers of clients. */
export interface RefusingNode extends Pick<NodeReport, 'node' | 'rejections'> {
  /** The patches of the configuration that are not in force. One row has them, which stands for no client. */
  readonly patches?: readonly Problem[];
}

export function xdsSink(options: XdsSinkOptions): Sink<Piece, RefusingNode> {
  const { graph } = options;
  return sink<Piece, RefusingNode>({
    name: 'xds',
    of: graph.pieces,
    keys: graph.keys,
    reads: [...ROUTE_READS, ...(options.reads ?? [])],
    lease: 'none',
    version: ({ id }) => id,
    model: graph.models,
    effects: xdsEffects,
    ...(options.acknowledgements && { acknowledgements: options.acknowledgements }),
    open(context) {
      const routes = new ServedRoutes(context, options);
      return { take: ({ changes }) => routes.take(changes), close: () => routes.close() };
    },
  });
}

/** In the place of a node's name. */
const EVERY_ENVOY = 'every Envoy';
const PATCHES = 'patches of the configuration';

class ServedRoutes {
  readonly #context: SinkContext<Piece, RefusingNode>;
  readonly #options: XdsSinkOptions;
  readonly #serving: XdsServing;
  #assembly: Assembly | undefined;
  /** The reported refusals, by client. */
  readonly #refusing = new Map<string, NodeReport['rejections']>();
  #invalid: readonly Rejection[] = [];
  #patches: readonly Problem[] = [];

  constructor(context: SinkContext<Piece, RefusingNode>, options: XdsSinkOptions) {
    this.#context = context;
    this.#options = options;
    this.#serving = options.serving?.taken() ?? new XdsServing(options);
    this.#serving.onReport = (report) => this.#report(report);
  }

  async take(
    changes: readonly { readonly key: string; readonly after: Piece | undefined }[],
  ): Promise<SinkResult | undefined> {
    const started = this.#context.clock.now();
    const changed = changes.find(({ key }) => key === SETTINGS)?.after;
    const configured = changed?.settings;
    if (configured && this.#assembly)
      this.#serving.store.take(this.#assembly.configure(configured, changed.authorization));
    const { settings, authorization } = changed ?? this.#context.current().get(SETTINGS)?.value ?? {};
    if (!settings) return undefined;
    this.#assembly ??= createAssembly(settings, authorization);
    this.#serving.store.take(this.#assembly.take(changes.filter(({ key }) => key !== SETTINGS)));
    this.#reportInvalid(this.#assembly.refused());
    this.#reportPatches(this.#assembly.patchProblems());
    this.#options.onUpdated?.(this.#context.clock.now() - started);
    try {
      if (configured) {
        const { clock = this.#context.clock } = this.#options;
        await this.#serving.serve(configured, { clock, logger: this.#context.logger });
      }
      return undefined;
    } catch (error) {
      // The resources are in place; only the socket is not.
      return { failed: new Map([[SETTINGS, error]]) };
    }
  }

  close(): Promise<void> {
    return this.#serving.close();
  }

  /** A thousand clients that acknowledge an edit change nothing: only new refusals start a wave. */
  #report({ node, streams, rejections: all }: NodeReport): void {
    const rejections = streams > 0 ? all : [];
    const before = this.#refusing.get(node) ?? [];
    if (rejections.length === before.length && rejections.every((each, at) => isSameRejection(each, before[at])))
      return;
    if (rejections.length > 0) this.#refusing.set(node, rejections);
    else this.#refusing.delete(node);
    this.#withdraw(rejections.filter((each) => !before.some((other) => isSameRejection(each, other))));
    this.#context.report(node, rejections.length > 0 ? { node, rejections } : undefined);
  }

  /** Serves a resource that an Envoy refuses without its patches. */
  #withdraw(rejections: readonly Rejection[]): void {
    const assembly = this.#assembly;
    if (!assembly || rejections.length === 0) return;
    const changed = assembly.withdraw(rejections);
    if (changed.size === 0) return;
    this.#serving.store.take(changed);
    this.#reportPatches(assembly.patchProblems());
  }

  #reportPatches(patches: readonly Problem[]): void {
    if (equal(patches, this.#patches)) return;
    this.#patches = patches;
    this.#context.report(PATCHES, patches.length > 0 ? { node: PATCHES, rejections: [], patches } : undefined);
  }

  /** The resources that no Envoy is sent, because each would refuse them. */
  #reportInvalid(refused: Iterable<Rejection>): void {
    const rejections = [...refused];
    const before = this.#invalid;
    if (rejections.length === before.length && rejections.every((each, at) => each === before[at])) return;
    this.#invalid = rejections;
    this.#context.report(EVERY_ENVOY, rejections.length > 0 ? { node: EVERY_ENVOY, rejections } : undefined);
  }
}

function isSameRejection(left: Rejection, right: Rejection | undefined): boolean {
  return left.key === right?.key && left.version === right.version && left.message === right.message;
}
