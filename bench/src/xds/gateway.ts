// Edits of HTTPRoutes on one Gateway, from the API server's answer to the new bytes at the client.
import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection, requestBytes } from '../apiserver/connection.ts';
import { processorMilliseconds } from '../apiserver/process-costs.ts';
import type { Part } from '../bench.ts';
import { percentile } from '../measure/percentiles.ts';
import type { Result } from '../measure/result.ts';
import { SESAME } from './control-planes.ts';
import { Figures } from './figures.ts';
import { backendRequests, hostOf, writeAll } from './objects.ts';
import { createDefinitions, onServer, quiet, served } from './scene.ts';
import { subscribeAggregated } from './subscriptions.ts';

const GROUP = 'gateway.networking.k8s.io';
const CLUSTER_KINDS = ['GatewayClass'];
const KINDS = [
  ...CLUSTER_KINDS,
  'Gateway',
  'HTTPRoute',
  'GRPCRoute',
  'TLSRoute',
  'TCPRoute',
  'ReferenceGrant',
  'BackendTLSPolicy',
];
const NAMESPACE = SESAME.namespace;
const ROUTES = `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/httproutes`;
const PAUSE_MS = 10;
const STRIDE = 7919;

/** So many HTTPRoutes of three rules, each with a host of its own. */
export function gateway(name: string, size: number): Part {
  return {
    name,
    summary: `edits of ${size} HTTPRoutes on a Gateway`,
    measure: (scale) => measureGateway(scale === 'tiny' ? 20 : size, scale === 'tiny' ? 3 : 300),
  };
}

function measureGateway(size: number, edits: number): Promise<Result[]> {
  return onServer({}, async (server, start) => {
    await createDefinitions(server, SESAME, KINDS.map(definition));
    await served(server.address, ROUTES);
    await writeAll(server.address, [...backendRequests(SESAME, 0, size, []), ...objects()]);
    await writeAll(
      server.address,
      Array.from({ length: size }, (_, index) => route(index)),
    );
    const running = await start(SESAME);
    const expected = { namespace: NAMESPACE, size, isSplit: true, plainRoutes: 'http-80', secretNames: [] };
    const subscriber = await subscribeAggregated(running.port, expected, running.began);
    const connection = await openConnection(server.address);
    try {
      const latencies: number[] = [];
      let [bytes, cpu] = [0, 0];
      for (let turn = -Math.ceil(edits / 5); turn < edits; turn++) {
        if (turn === 0) {
          await quiet(running.pid, 1_000);
          latencies.length = 0;
          bytes = subscriber.connection.bytes;
          cpu = processorMilliseconds([running.pid]) ?? 0;
        }
        const mark = `/mark-${turn + edits}-`;
        const patch = [{ op: 'replace', path: '/spec/rules/1/matches/0/path/value', value: mark }];
        const path = `${ROUTES}/route-${(Math.abs(turn) * STRIDE) % size}`;
        const seen = subscriber.seen(mark);
        seen.catch(() => undefined);
        await connection.exchange(requestBytes('PATCH', path, patch, 'application/json-patch+json'));
        const answered = performance.now();
        latencies.push(Math.max(0, (await seen) - answered));
        await sleep(PAUSE_MS);
      }
      await quiet(running.pid, 1_000);
      const figures = new Figures(`${size} HTTPRoutes on a Gateway, delta ADS`, false, edits === 300);
      figures.add('edit of a rule, p50', 'ms', [percentile(latencies, 0.5)], 10);
      figures.add('edit of a rule, p99', 'ms', [percentile(latencies, 0.99)], 20);
      figures.add('edit of a rule, bytes', 'bytes', [(subscriber.connection.bytes - bytes) / edits], 4096);
      figures.add(
        'edit of a rule, processor time',
        'ms',
        [((processorMilliseconds([running.pid]) ?? 0) - cpu) / edits],
        10,
      );
      return figures.results;
    } finally {
      connection.close();
      subscriber.close();
    }
  });
}

/** The definition without its schema, which is not measured. */
function definition(kind: string): object {
  const plural = kind.endsWith('cy')
    ? `${kind.toLowerCase().slice(0, -1)}ies`
    : kind.endsWith('s')
      ? `${kind.toLowerCase()}es`
      : `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${GROUP}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a benchmark' },
    },
    spec: {
      group: GROUP,
      scope: CLUSTER_KINDS.includes(kind) ? 'Cluster' : 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
}

function objects(): Buffer[] {
  const apiVersion = `${GROUP}/v1`;
  const listeners = [{ name: 'http', port: 80, protocol: 'HTTP' }];
  const configurations = `/apis/projectsesame.io/v1alpha1/namespaces/${SESAME.ownNamespace}/sesameconfigurations`;
  return [
    requestBytes('POST', `/apis/${GROUP}/v1/gatewayclasses`, {
      apiVersion,
      kind: 'GatewayClass',
      metadata: { name: 'sesame' },
      spec: { controllerName: 'projectsesame.io/gateway-controller' },
    }),
    requestBytes('POST', `/apis/${GROUP}/v1/namespaces/${NAMESPACE}/gateways`, {
      apiVersion,
      kind: 'Gateway',
      metadata: { name: 'edge' },
      spec: { gatewayClassName: 'sesame', listeners },
    }),
    requestBytes('POST', configurations, {
      apiVersion: 'projectsesame.io/v1alpha1',
      kind: 'SesameConfiguration',
      metadata: { name: 'sesame' },
      spec: { gateway: { gatewayRef: { namespace: NAMESPACE, name: 'edge' } } },
    }),
  ];
}

function route(index: number): Buffer {
  const backendRefs = ['a', 'b'].map((part) => ({ name: `service-${index}-${part}`, port: 80, weight: 50 }));
  const rules = ['/', '/api', '/static'].map((value) => ({
    matches: [{ path: { type: 'PathPrefix', value } }],
    backendRefs,
  }));
  return requestBytes('POST', ROUTES, {
    apiVersion: `${GROUP}/v1`,
    kind: 'HTTPRoute',
    metadata: { name: `route-${index}` },
    spec: { parentRefs: [{ name: 'edge' }], hostnames: [hostOf(index)], rules },
  });
}
