// The clients of a server. An Envoy may have several connections: recent versions open one for each 1,024 streams. So connections that name
// one node from one address are one client. An Envoy asks for all clusters and for all listeners on one stream each, or has one aggregated
// stream. Two connections that do so at the same time are two clients with one name, and neither sees the refusals of the other. So are two
// aggregated streams, also on one connection: each has everything, and a removal waits for the answers of one stream alone.
import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import type { DiscoveryMethod } from './discovery-stream.ts';
import type { NodeIdentity, NodeReport, XdsNode } from './xds-node.ts';

interface KnownClient {
  readonly node: XdsNode;
  readonly sessions: Set<Http2Session>;
  /** The address that its connections come from, and the place of its listeners. */
  readonly place: string;
  /** The streams of which an Envoy has one, by their kind. */
  readonly single: Map<string, ServerHttp2Stream>;
}

export class XdsClients {
  readonly #create: (identity: NodeIdentity) => XdsNode;
  /** The clients that name themselves so; nearly always one. */
  readonly #byName = new Map<string, readonly KnownClient[]>();
  /** The newest clients of a connection, by node id and place: its streams nearly always name one. */
  readonly #bySession = new WeakMap<Http2Session, Map<string, KnownClient>>();
  /** All of them. The fan-out of an edit walks it, and calls nothing here. */
  readonly nodes = new Set<XdsNode>();
  /** Names that several clients have: only their reports are united. */
  readonly shared = new Set<string>();

  constructor(create: (identity: NodeIdentity) => XdsNode) {
    this.#create = create;
  }

  /** Returns the client that a stream belongs to, by its first request. */
  nodeOf(identity: NodeIdentity, stream: ServerHttp2Stream, method: DiscoveryMethod): XdsNode {
    const { session } = stream;
    const place = JSON.stringify([session?.socket?.remoteAddress, identity.place]);
    const single = singleOf(method);
    const last = session && this.#bySession.get(session)?.get(nameOf(identity.id, place));
    const bound = last && takes(last, single, session) ? last : undefined;
    const client = bound ?? this.#free(identity.id, place, single, session) ?? this.#add(identity, place);
    if (single !== undefined) client.single.set(single, stream);
    if (session && !bound) {
      client.sessions.add(session);
      const own = this.#bySession.get(session) ?? new Map<string, KnownClient>();
      this.#bySession.set(session, own.set(nameOf(identity.id, place), client));
    }
    return client.node;
  }

  /** Drops a client whose last stream has ended; false for one that is not known. */
  drop(node: XdsNode): boolean {
    const named = this.#byName.get(node.id) ?? [];
    const gone = named.find((each) => each.node === node);
    if (!gone) return false;
    const name = nameOf(node.id, gone.place);
    for (const session of gone.sessions) {
      const own = this.#bySession.get(session);
      if (own?.get(name) === gone) own.delete(name);
    }
    const left = named.filter((each) => each !== gone);
    if (left.length > 0) this.#byName.set(node.id, left);
    else this.#byName.delete(node.id);
    if (left.length < 2) this.shared.delete(node.id);
    this.nodes.delete(node);
    return true;
  }

  /** Returns one report for all clients with the name of this one. */
  report(node: XdsNode): NodeReport {
    const others = this.#byName.get(node.id)?.filter((each) => each.node !== node) ?? [];
    const own = node.current();
    if (others.length === 0) return own;
    return own.streams === 0
      ? united(others.map((each) => each.node.current()))
      : united([...others.map((each) => each.node.current()), own]);
  }

  reports(): NodeReport[] {
    return [...this.#byName.values()].map((clients) => united(clients.map(({ node }) => node.current())));
  }

  /** The newest client with this name and address that a stream of this connection may belong to. */
  #free(
    id: string,
    place: string,
    single: string | undefined,
    session: Http2Session | undefined,
  ): KnownClient | undefined {
    return this.#byName
      .get(id)
      ?.findLast((client) => client.place === place && !client.node.isIdle && takes(client, single, session));
  }

  #add(identity: NodeIdentity, place: string): KnownClient {
    const node = this.#create(identity);
    const client: KnownClient = { node, place, sessions: new Set(), single: new Map() };
    const others = this.#byName.get(identity.id) ?? [];
    this.#byName.set(identity.id, [...others, client]);
    if (others.length > 0) this.shared.add(identity.id);
    this.nodes.add(node);
    return client;
  }
}

/** Returns whether a stream of the connection may belong to the client. */
function takes({ single }: KnownClient, kind: string | undefined, session: Http2Session | undefined): boolean {
  const other = kind === undefined ? undefined : single.get(kind);
  if (other === undefined || other.closed || other.destroyed) return true;
  return kind !== AGGREGATED && other.session === session;
}

const AGGREGATED = 'ads';

function nameOf(id: string, place: string): string {
  return `${id}\n${place}`;
}

/** Returns the kind of a stream of which an Envoy has one, whichever protocol it speaks. */
function singleOf({ type }: DiscoveryMethod): string | undefined {
  if (type === undefined) return AGGREGATED;
  return type === 'cds' || type === 'lds' ? type : undefined;
}

function united(reports: readonly NodeReport[]): NodeReport {
  const [first, ...others] = reports;
  if (!first) throw new Error('a client without a report');
  if (others.length === 0) return first;
  const rejections = new Map(reports.flatMap((each) => each.rejections.map((rejection) => [rejection.key, rejection])));
  return {
    node: first.node,
    streams: reports.reduce((sum, { streams }) => sum + streams, 0),
    acknowledged: Object.assign({}, ...reports.map(({ acknowledged }) => acknowledged)) as NodeReport['acknowledged'],
    sent: Object.assign({}, ...reports.map(({ sent }) => sent)) as NodeReport['sent'],
    rejections: [...rejections.values()],
  };
}
