// Allocates the ports that identify nodes. A client that reconnects during a rollout must never reach another cluster at the port of its
// own. So a cluster keeps its ports for as long as it requests them, whatever other clusters do. Freed ports are allocated again only after
// all higher ones have been used.
import { FIRST_NODE_PORT, LAST_PORT } from '../configuration/schema.ts';

export interface PortRequest {
  /** Unique: `<cluster>/<ingress>`. */
  readonly name: string;
  /** The number of nodes. While it is unknown, the cluster keeps the ports that it has. */
  readonly nodes: number | undefined;
  /** A bootstrap port that the user fixed. The ports of the nodes follow it. */
  readonly fixed?: number;
}

export interface PortBlock {
  readonly bootstrap: number;
  /** The port of the first node. The other nodes have the following ports. */
  readonly nodes: number;
  readonly count: number;
}

export interface PortMemory {
  readonly ports: Readonly<Record<string, PortBlock>>;
  /** The port at which the next search starts. */
  readonly nextPort?: number;
}

export interface PortPlan extends PortMemory {
  /** The reasons why requests got no ports, by name. */
  readonly refused: Readonly<Record<string, string>>;
}

/** Allocates ports for each request. If two requests want the same ports, the earlier one gets them. */
export function allocatePorts(
  requests: readonly PortRequest[],
  memory: PortMemory,
  reserved: readonly number[] = [],
): PortPlan {
  const taken = new Map<number, string>(reserved.map((port) => [port, 'the proxy itself']));
  const ports: Record<string, PortBlock> = {};
  const refused: Record<string, string> = {};
  let next = memory.nextPort ?? FIRST_NODE_PORT;

  const take = (name: string, block: PortBlock) => {
    ports[name] = block;
    for (const port of portsIn(block)) taken.set(port, name);
  };
  const isFree = (start: number, count: number) => {
    if (start < FIRST_NODE_PORT || start + count - 1 > LAST_PORT) return false;
    for (let port = start; port < start + count; port++) if (taken.has(port)) return false;
    return true;
  };
  /** Finds the first free range from `next` on, or else from the first port on. */
  const find = (count: number): number | undefined => {
    for (const from of [next, FIRST_NODE_PORT]) {
      for (let start = from; start + count - 1 <= LAST_PORT; start++) {
        if (!isFree(start, count)) continue;
        next = Math.max(next, start + count);
        return start;
      }
    }
    return undefined;
  };

  // Allocate fixed ports first, then remembered ones, then new ones, so that no cluster loses ports to a new one.
  for (const { name, nodes, fixed } of requests) {
    if (fixed === undefined || nodes === undefined) continue;
    const block = { bootstrap: fixed, nodes: fixed + 1, count: nodes };
    const clash = portsIn(block).find((port) => taken.has(port) || port > LAST_PORT);
    if (clash === undefined) take(name, block);
    else
      refused[name] =
        clash > LAST_PORT
          ? `it needs ports up to ${fixed + nodes}, and ${LAST_PORT} is the last`
          : `port ${clash} is used by ${taken.get(clash)}`;
  }
  const moved: PortRequest[] = [];
  for (const request of requests) {
    const { name, nodes, fixed } = request;
    if (ports[name] !== undefined || (fixed !== undefined && nodes !== undefined)) continue;
    const known = memory.ports[name];
    const isKept = known !== undefined && portsIn(known).every((port) => !taken.has(port));
    if (isKept) take(name, known);
    const count = isKept ? known.count : undefined;
    if (nodes !== undefined && count !== nodes) moved.push(request);
  }
  for (const { name, nodes = 0 } of moved) {
    const known = ports[name];
    if (known === undefined) {
      const start = find(nodes + 1);
      if (start === undefined) refused[name] = `no ${nodes + 1} ports in a row are free`;
      else take(name, { bootstrap: start, nodes: start + 1, count: nodes });
      continue;
    }
    // Clients are configured with the bootstrap port, so it stays. The nodes move if they must.
    for (const port of portsIn(known)) if (port !== known.bootstrap) taken.delete(port);
    const start = isFree(known.nodes, nodes) ? known.nodes : find(nodes);
    if (start === undefined) {
      refused[name] = `no ${nodes} ports in a row are free`;
      take(name, known);
    } else take(name, { bootstrap: known.bootstrap, nodes: start, count: nodes });
  }
  // Remember the ports of a removed cluster while they are free: it may come back at once, as with `kubectl replace --force`.
  const isRequested = new Set(requests.map(({ name }) => name));
  const gone = Object.entries(memory.ports).filter(
    ([name, block]) => !isRequested.has(name) && portsIn(block).every((port) => !taken.has(port)),
  );
  for (const [name, block] of gone.slice(-GONE_REMEMBERED)) ports[name] = block;
  return { ports, nextPort: next, refused };
}

const GONE_REMEMBERED = 20;

function portsIn({ bootstrap, nodes, count }: PortBlock): number[] {
  return [bootstrap, ...Array.from({ length: count }, (_, i) => nodes + i)];
}
