// Ports that identify nodes, given out once and kept: a client that reconnects during a rollout must never find another
// cluster's port where its own was. A cluster keeps its ports for as long as it asks for them, whatever comes and goes
// around it; freed ports are given out again only after all higher ones have been used.
import { FIRST_NODE_PORT, LAST_PORT } from '../configuration/schema.ts';

export interface PortRequest {
  /** Unique: `<cluster>/<ingress>`. */
  readonly name: string;
  /** How many nodes; undefined while that is not known: the ports that it has are kept. */
  readonly nodes: number | undefined;
  /** A bootstrap port that the user has fixed; its nodes follow it. */
  readonly fixed?: number;
}

export interface PortBlock {
  readonly bootstrap: number;
  /** The port of the first node; the others follow. */
  readonly nodes: number;
  readonly count: number;
}

export interface PortMemory {
  readonly ports: Readonly<Record<string, PortBlock>>;
  /** Where the next ports are searched for. */
  readonly nextPort?: number;
}

export interface PortPlan extends PortMemory {
  /** Why a request got no ports. */
  readonly refused: Readonly<Record<string, string>>;
}

/** Gives each request its ports; earlier requests win where two want the same. */
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
  /** The first free run from `next` on, and from the beginning when there is none. */
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

  // What users have fixed comes first, then what is remembered, then what is new: no cluster loses ports to a new one.
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
    // The bootstrap port is what clients are configured with: it stays, and nodes move if they must.
    for (const port of portsIn(known)) if (port !== known.bootstrap) taken.delete(port);
    const start = isFree(known.nodes, nodes) ? known.nodes : find(nodes);
    if (start === undefined) {
      refused[name] = `no ${nodes} ports in a row are free`;
      take(name, known);
    } else take(name, { bootstrap: known.bootstrap, nodes: start, count: nodes });
  }
  // Who is gone may come back at once, as `kubectl replace --force` has it: its ports are remembered while they are free.
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
