// Edits of routes and endpoints, from the request to the API server to the new bytes at an xDS client in the same process.
import { EndpointSlice } from '@capstan/kube';
import { HTTPProxy, type XdsStream } from '@capstan/sesame/serving';
import type { Part, Scale } from '../bench.ts';
import { percentile } from '../measure/percentiles.ts';
import { type Result, result } from '../measure/result.ts';
import { createObjects, type Ingress, NAMESPACE, startIngress } from './ingress.ts';

const TYPE = 'type.googleapis.com/envoy.config.';
const URLS = {
  cds: `${TYPE}cluster.v3.Cluster`,
  lds: `${TYPE}listener.v3.Listener`,
  eds: `${TYPE}endpoint.v3.ClusterLoadAssignment`,
  rds: `${TYPE}route.v3.RouteConfiguration`,
  vhds: `${TYPE}route.v3.VirtualHost`,
};

interface Edits {
  readonly latencies: readonly number[];
  readonly bytes: number;
  readonly cpuMs: number;
}

/** One part for each number of HTTPProxies, in a process of its own. */
export function edits(size: number): Part {
  return {
    name: `edits-${size}`,
    summary: `start, route edits and endpoint changes with ${size} HTTPProxies`,
    async measure(scale: Scale) {
      const proxies = scale === 'tiny' ? 20 : size;
      const count = scale === 'tiny' ? 5 : 300;
      const ingress = await startIngress(await createObjects(proxies));
      try {
        return await measureEdits(ingress, proxies, count, size === 10_000 && scale === 'full');
      } finally {
        await ingress.close();
      }
    },
  };
}

async function measureEdits(ingress: Ingress, size: number, count: number, isJudged: boolean): Promise<Result[]> {
  const label = `${size} proxies`;
  const limit = (below: number) => (isJudged ? { below } : {});
  const results: Result[] = [
    result({
      name: `${label}: start to the first complete set`,
      unit: 's',
      rounds: [ingress.startMs / 1000],
      ...limit(5),
    }),
    result({ name: `${label}: CPU of the start`, unit: 's', rounds: [ingress.startCpuMs / 1000] }),
  ];
  await ingress.running.rest();
  const stream = await subscribe(ingress, size);
  const even = (turn: number) => ((turn * 34) % size) & ~1;
  await run(ingress, stream, Math.min(count, 100), (turn) => route(ingress, even(turn), turn));
  const secure = await run(ingress, stream, count, (turn) => route(ingress, even(turn), 1_000 + turn));
  const plain = await run(ingress, stream, count, (turn) => route(ingress, even(turn) + 1, 2_000 + turn));
  const endpoint = await run(ingress, stream, count, (turn) => moveEndpoint(ingress, (turn * 7) % size, turn));
  for (const [name, measured, p50, p99, bytes] of [
    ['route edit with TLS, delta ADS', secure, 10, 20, 4096],
    ['route edit without TLS, delta ADS', plain, 10, 20, 4096],
    ['endpoint change, delta ADS', endpoint, 5, 10, undefined],
  ] as const) {
    results.push(
      result({
        name: `${label}: ${name}, p50`,
        unit: 'ms',
        rounds: [percentile(measured.latencies, 0.5)],
        ...limit(p50),
      }),
      result({
        name: `${label}: ${name}, p99`,
        unit: 'ms',
        rounds: [percentile(measured.latencies, 0.99)],
        ...limit(p99),
      }),
      result({ name: `${label}: ${name}, bytes`, unit: 'bytes', rounds: [measured.bytes], ...(bytes && limit(bytes)) }),
      result({ name: `${label}: ${name}, CPU of API server, Sesame and client`, unit: 'ms', rounds: [measured.cpuMs] }),
    );
  }
  const whole = await wholeEdits(ingress, stream, size, Math.min(count, 50));
  results.push(
    result({
      name: `${label}: route edit without TLS, state of the world, p50`,
      unit: 'ms',
      rounds: [percentile(whole.latencies, 0.5)],
    }),
    result({
      name: `${label}: route edit without TLS, state of the world, p99`,
      unit: 'ms',
      rounds: [percentile(whole.latencies, 0.99)],
      ...limit(100),
    }),
    result({
      name: `${label}: route edit without TLS, state of the world, bytes`,
      unit: 'bytes',
      rounds: [whole.bytes],
    }),
  );
  return results;
}

/** Everything, as an Envoy on the aggregated delta stream has it. */
async function subscribe({ xds }: Ingress, size: number): Promise<XdsStream> {
  const stream = xds.open({ type: undefined, isDelta: true });
  stream.request({ type_url: URLS.cds });
  stream.request({ type_url: URLS.lds });
  for (const type of [URLS.eds, URLS.rds]) stream.request({ type_url: type, resource_names_subscribe: ['*'] });
  stream.request({ type_url: URLS.vhds, resource_names_subscribe: ['ingress_http'] });
  const secure = Math.ceil(size / 2);
  const expected = new Map([
    [URLS.cds, size * 2],
    [URLS.eds, size * 2],
    [URLS.rds, secure + 1],
    [URLS.vhds, size],
    [URLS.lds, 3],
  ]);
  for (let left = 1; left > 0; ) {
    const response = await stream.next();
    stream.ack(response);
    expected.set(response.typeUrl, (expected.get(response.typeUrl) ?? 0) - response.resources.size);
    left = [...expected.values()].filter((count) => count > 0).length;
  }
  return stream;
}

async function run(
  { running }: Ingress,
  stream: XdsStream,
  count: number,
  edit: (turn: number) => Promise<unknown>,
): Promise<Edits> {
  const latencies: number[] = [];
  let bytes = 0;
  const before = process.cpuUsage();
  for (let turn = 0; turn < count; turn++) {
    const began = performance.now();
    const answered = edit(turn);
    const response = await stream.next();
    latencies.push(performance.now() - began);
    bytes += response.size;
    stream.ack(response);
    await answered;
    await running.rest();
    while (stream.pending > 0) {
      const more = await stream.next();
      bytes += more.size;
      stream.ack(more);
    }
  }
  const { user, system } = process.cpuUsage(before);
  return { latencies, bytes: bytes / count, cpuMs: (user + system) / 1000 / count };
}

/** All plain hosts are one resource there. */
async function wholeEdits(ingress: Ingress, other: XdsStream, size: number, count: number): Promise<Edits> {
  const names = ['ingress_http'];
  const stream = ingress.xds.open({ type: 'rds', isDelta: false });
  stream.request({ resource_names: names });
  stream.ack(await stream.next(), names);
  const latencies: number[] = [];
  let bytes = 0;
  for (let turn = 0; turn < count; turn++) {
    const began = performance.now();
    const answered = route(ingress, ((turn * 2) % size) + 1, 3_000 + turn);
    const response = await stream.next();
    latencies.push(performance.now() - began);
    bytes += response.size;
    stream.ack(response, names);
    await answered;
    await ingress.running.rest();
    while (other.pending > 0) other.ack(await other.next());
  }
  return { latencies, bytes: bytes / count, cpuMs: 0 };
}

/** The weight must be another one each time, or nothing would be sent. */
function route({ cluster }: Ingress, index: number, weight: number): Promise<unknown> {
  const patch = [{ op: 'replace', path: '/spec/routes/0/services/0/weight', value: 1_000 + weight }];
  return cluster.client.patch(HTTPProxy, { namespace: NAMESPACE, name: `proxy-${index}` }, 'json', patch);
}

function moveEndpoint({ cluster }: Ingress, index: number, turn: number): Promise<unknown> {
  const endpoints = [{ addresses: [`10.200.${turn >> 8}.${turn & 255}`], conditions: { ready: true } }];
  return cluster.client.patch(EndpointSlice, { namespace: NAMESPACE, name: `service-${index}-a` }, 'merge', {
    endpoints,
  });
}
