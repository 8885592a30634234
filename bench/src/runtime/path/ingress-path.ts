// The ingress through the real path: list and watch bytes over a connection, parsing, caches, derivations, and the sink that
// takes the change. Latency is from the write of the event's bytes to the sink's `take`.
import { EndpointSlice, type KubeObject, silentLogger, systemClock } from '@capstan/kube';
import { createRuntime } from '@capstan/reconcile';
import { createRandom } from '@capstan/testing';
import type { Part, Scale } from '../../bench.ts';
import type { Proxy } from '../../ingress-objects.ts';
import { heapAfterGc } from '../../measure/heap.ts';
import { type Result, result } from '../../measure/result.ts';
import { stopwatch } from '../../measure/stopwatch.ts';
import { type Latency, latencyOf, roundsOf } from '../../measure/timing.ts';
import { clientOf } from '../cluster.ts';
import { until } from '../until.ts';
import { ingressOperator, objectsByKind, ProxyKind } from './ingress-operator.ts';
import { startPreparedServer } from './prepared-server.ts';

const SIZES = {
  full: { sizes: [100, 1000, 10_000], rounds: 3, warmUp: 100, edits: 500 },
  tiny: { sizes: [20, 40], rounds: 1, warmUp: 2, edits: 5 },
};

export const ingressPath: Part = {
  name: 'ingress-path',
  summary: 'the same from watch bytes to the sink that takes the change',
  async measure(scale: Scale) {
    const { sizes, rounds, ...counts } = SIZES[scale];
    const measured = await roundsOf(rounds, async () => {
      const round: Measured[] = [];
      for (const size of sizes) round.push(await measurePath(size, counts));
      return round;
    });
    const of = (at: number, pick: (one: Measured) => number) => measured.map((round) => pick(round[at] as Measured));
    const last = sizes.length - 1;
    return sizes
      .flatMap((size, at) => figures(size, at === last, (pick) => of(at, pick)))
      .concat(flatness(sizes, measured));
  },
};

interface Measured {
  readonly cold: number;
  readonly heap: number;
  readonly route: Latency;
  readonly endpoint: Latency;
}

async function measurePath(size: number, { warmUp, edits }: { warmUp: number; edits: number }): Promise<Measured> {
  const given = objectsByKind(size);
  const server = await startPreparedServer(Object.values(given));
  const before = heapAfterGc();
  const snapshots = new Set<string>();
  let taken: (() => void) | undefined;
  const operator = ingressOperator((name, { snapshot }) => {
    if (snapshot) snapshots.add(name);
    else taken?.();
  });
  const elapsed = stopwatch();
  const runtime = createRuntime({
    operators: [operator],
    clock: systemClock,
    random: createRandom(3),
    logger: silentLogger,
  });
  runtime.setDigestKey({ id: 'bench', bytes: new Uint8Array(32) });
  runtime.addWorld({ name: '', client: clientOf(server.transport) });
  const stopping = new AbortController();
  const running = runtime.run(stopping.signal);
  await until(() => snapshots.size === 2);
  const cold = elapsed();
  await until(() => runtime.isCurrent);
  const heap = heapAfterGc() - before;
  const edit = (send: (index: number) => void) => timeTakes({ warmUp, edits }, send, (listener) => (taken = listener));
  const route = await edit((index) => {
    const object = given.proxies.objects[(index * 37) % size] as KubeObject & Proxy;
    const [first, ...others] = object.spec.routes;
    if (first === undefined) return;
    const changed = { ...object, spec: { ...object.spec, routes: [{ ...first, prefix: `/v${index}` }, ...others] } };
    server.send(ProxyKind, changed);
  });
  const endpoint = await edit((index) => {
    const object = given.slices.objects[(index * 37) % (2 * size)] as EndpointSlice;
    const addresses = [`10.9.${(index >> 8) & 255}.${index & 255}`];
    server.send(EndpointSlice, { ...object, endpoints: [{ addresses, conditions: { ready: true } }] } as KubeObject);
  });
  stopping.abort();
  await running;
  await server.close();
  return { cold, heap, route, endpoint };
}

/** One edit at a time, each timed from its bytes to the sink. */
async function timeTakes(
  { warmUp, edits }: { warmUp: number; edits: number },
  send: (index: number) => void,
  listen: (listener: (() => void) | undefined) => void,
): Promise<Latency> {
  const samples: number[] = [];
  for (let index = 0; index < warmUp + edits; index++) {
    const { promise, resolve } = Promise.withResolvers<number>();
    const elapsed = stopwatch();
    listen(() => resolve(elapsed()));
    send(index);
    const ms = await promise;
    if (index >= warmUp) samples.push(ms);
  }
  listen(undefined);
  return latencyOf(samples);
}

function figures(
  size: number,
  isLargest: boolean,
  of: (pick: (one: Measured) => number) => readonly number[],
): Result[] {
  const name = (what: string) => `ingress path ${size.toLocaleString('en')}, ${what}`;
  return [
    result({ name: name('cold'), unit: 'ms', rounds: of(({ cold }) => cold), ...(isLargest ? { below: 4000 } : {}) }),
    // Report the largest size alone: the remains of earlier sizes are small beside it.
    ...(isLargest
      ? [
          result({
            name: name('heap'),
            unit: 'MB',
            rounds: of(({ heap }) => heap / 1e6),
            below: 200,
            note: 'live objects of caches, graph and sinks after a collection',
          }),
        ]
      : []),
    result({
      name: name('route edit p50'),
      unit: 'ms',
      rounds: of(({ route }) => route.p50),
      growth: { of: 'ingress path: route edit, p50', size },
    }),
    result({
      name: name('route edit p99'),
      unit: 'ms',
      rounds: of(({ route }) => route.p99),
      ...(isLargest ? { below: 2 } : {}),
    }),
    result({
      name: name('endpoint edit p50'),
      unit: 'ms',
      rounds: of(({ endpoint }) => endpoint.p50),
      growth: { of: 'ingress path: endpoint edit, p50', size },
    }),
    result({
      name: name('endpoint edit p99'),
      unit: 'ms',
      rounds: of(({ endpoint }) => endpoint.p99),
      ...(isLargest ? { below: 2 } : {}),
    }),
  ];
}

/** The exponent by which the median edit grows from the smallest size to the largest: 0 is flat, 1 is linear. */
function flatness(sizes: readonly number[], measured: readonly (readonly Measured[])[]): Result[] {
  const [first = 1, last = 1] = [sizes[0], sizes.at(-1)];
  const exponent = (pick: (one: Measured) => number) =>
    measured.map((round) => {
      const [small, large] = [round[0], round.at(-1)];
      if (small === undefined || large === undefined) return 0;
      return Math.log(pick(large) / pick(small)) / Math.log(last / first);
    });
  return [
    result({
      name: 'ingress path, growth of a route edit',
      unit: 'exponent',
      rounds: exponent(({ route }) => route.p50),
      below: 0.15,
    }),
    result({
      name: 'ingress path, growth of an endpoint edit',
      unit: 'exponent',
      rounds: exponent(({ endpoint }) => endpoint.p50),
      below: 0.15,
    }),
  ];
}
