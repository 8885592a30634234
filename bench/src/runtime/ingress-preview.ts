// Previews of one changed object: a fork of the graph with an overlay, evaluated and thrown away.
import { systemClock } from '@capstan/kube';
import { createEngine } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import { buildIngressGraph, type IngressGraph, withWeight } from '../ingress-graph.ts';
import { keyOf, type Proxy, proxy, secret } from '../ingress-objects.ts';
import { heapAfterGc } from '../measure/heap.ts';
import { type Result, result } from '../measure/result.ts';
import { latencyOf, rounds, timeEach } from '../measure/timing.ts';

type Fork = ReturnType<ReturnType<typeof createEngine>['fork']>;

interface Preview {
  what: string;
  /** Changes the overlay; shows whether something must follow. */
  change(fork: Fork, graph: IngressGraph, i: number): void;
}

const PREVIEWS: readonly Preview[] = [
  {
    what: 'a route edit',
    change: (fork, graph, i) =>
      fork.put(graph.proxies, keyOf('proxy', i), withWeight(graph.proxies.peek(keyOf('proxy', i)) as Proxy, 77)),
  },
  { what: 'a service deleted', change: (fork, graph, i) => fork.delete(graph.services, keyOf('service', i)) },
  { what: 'a proxy deleted', change: (fork, graph, i) => fork.delete(graph.proxies, keyOf('proxy', i)) },
  {
    what: 'a proxy added',
    change: (fork, graph, i) => fork.put(graph.proxies, `${keyOf('proxy', i)}-new`, added(i, graph.size)),
  },
  { what: 'a secret edit', change: (fork, graph, i) => fork.put(graph.secrets, keyOf('secret', i), secret(i, 5)) },
];

/** A host of its own, with the services and the secret of another proxy. */
function added(i: number, size: number): Proxy {
  const like = proxy(i, size);
  const virtualhost = { ...like.spec.virtualhost, fqdn: `new-${i}.example.com` };
  return { ...like, metadata: { ...like.metadata, name: `proxy-${i}-new` }, spec: { ...like.spec, virtualhost } };
}

export function measurePreviews(size: number, options: { rounds: number; warmUp: number; previews: number }): Result[] {
  const engine = createEngine({ clock: systemClock });
  const graph = buildIngressGraph(engine, size);
  engine.flushSync();
  heapAfterGc();
  const random = createRandom(13);
  return PREVIEWS.flatMap(({ what, change }) => {
    const measured = rounds(options.rounds, () =>
      latencyOf(
        timeEach({
          warmUp: Math.min(options.warmUp, 50),
          count: options.previews,
          prepare() {
            const i = random.integer(0, size - 1);
            return () => {
              const fork = engine.fork();
              change(fork, graph, i);
              if (fork.evaluate().length === 0) throw new Error(`a preview of ${what} shows no change`);
            };
          },
        }),
      ),
    );
    return [
      result({ name: `ingress ${size}: preview of ${what}, p50`, unit: 'ms', rounds: measured.map(({ p50 }) => p50) }),
      result({
        name: `ingress ${size}: preview of ${what}, p99`,
        unit: 'ms',
        rounds: measured.map(({ p99 }) => p99),
        below: 2,
      }),
    ];
  });
}
