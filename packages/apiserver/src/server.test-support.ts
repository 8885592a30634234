// The shared parts of the tests of this package: a server for one test. Only *.test.ts import it.
import assert from 'node:assert/strict';
import type { ApiRequest, ApiResponse, Clock, Transport, UnknownObject, WatchEvent } from '@capstan/kube';
import { type BuiltinTypes, loadBuiltins } from './builtin/builtin.ts';
import type { Status } from './errors.ts';
import { type ApiServer, type ApiServerOptions, createApiServer } from './server.ts';
import { isResponse } from './transport.ts';

export interface TestServer {
  server: ApiServer;
  transport: Transport;
  clock: ManualClock;
  /** Sends a request and expects success. */
  ok(method: ApiRequest['method'], path: string, body?: unknown, more?: Partial<ApiRequest>): Promise<UnknownObject>;
  /** Sends a request and expects a refusal. */
  refused(method: ApiRequest['method'], path: string, body?: unknown, more?: Partial<ApiRequest>): Promise<Status>;
  send(method: ApiRequest['method'], path: string, body?: unknown, more?: Partial<ApiRequest>): Promise<ApiResponse>;
  watch(path: string, query?: Record<string, string>, more?: Partial<ApiRequest>): Promise<TestWatch>;
}

export interface TestWatch {
  /** The events that arrive until everything that is under way has settled. */
  take(): Promise<WatchEvent[]>;
  readonly ended: boolean;
  close(): Promise<void>;
}

let builtins: BuiltinTypes | undefined;

export function testServer(options: Partial<ApiServerOptions> = {}): TestServer {
  const clock = manualClock();
  builtins ??= loadBuiltins();
  const server = createApiServer({ clock, random: seeded(7), builtins, ...options });
  const transport = server.transport({ userAgent: 'test/1.0' });
  const send: TestServer['send'] = (method, path, body, more = {}) =>
    transport.request({ method, path, ...(body !== undefined && { body }), ...more });
  return {
    server,
    transport,
    clock,
    send,
    async ok(method, path, body, more) {
      const answer = await send(method, path, body, more);
      assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      return answer.body as UnknownObject;
    },
    async refused(method, path, body, more) {
      const answer = await send(method, path, body, more);
      assert.ok(answer.status >= 400, `${method} ${path} was accepted: ${JSON.stringify(answer.body)}`);
      return answer.body as Status;
    },
    async watch(path, query = {}, more = {}) {
      const stream = await transport.watch({ method: 'GET', path, query: { watch: 'true', ...query }, ...more });
      assert.ok(!isResponse(stream), `the watch was refused: ${JSON.stringify(stream)}`);
      const iterator = stream[Symbol.asyncIterator]();
      let arrived: WatchEvent[] = [];
      let ended = false;
      const reading = (async () => {
        for (;;) {
          const next = await iterator.next();
          if (next.done === true) break;
          arrived.push(...next.value);
        }
        ended = true;
      })();
      return {
        async take() {
          await settle();
          const events = arrived;
          arrived = [];
          return events;
        },
        get ended() {
          return ended;
        },
        async close() {
          await iterator.return?.();
          await reading;
        },
      };
    },
  };
}

/** Lets everything that only waits for microtasks finish. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

export interface ManualClock extends Clock {
  advance(ms: number): Promise<void>;
}

export function manualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  let now = start;
  const timers = new Set<{ at: number; call: () => void }>();
  return {
    now: () => now,
    after(ms, call) {
      const timer = { at: now + ms, call };
      timers.add(timer);
      return { cancel: () => timers.delete(timer) };
    },
    yield: settle,
    async advance(ms) {
      const until = now + ms;
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (!next) break;
        timers.delete(next);
        now = next.at;
        next.call();
        await settle();
      }
      now = until;
      await settle();
    },
  };
}

export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export const configMap = (name: string, data: Record<string, string> = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

export const deployment = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, ...metadata },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'a' }] } },
    ...spec,
  },
});

export const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

export const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';

export const widget = (name: string, spec: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name },
  spec,
});

/** A definition with the features that tests need: defaults, limits, subresources, a list by key. */
export function definition(properties: Record<string, object> = {}) {
  const item = {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string' }, value: { type: 'string' } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wd'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {}, scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.ready' } },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  properties: {
                    size: { type: 'integer', minimum: 0 },
                    mode: { type: 'string', enum: ['Auto', 'Manual'], default: 'Auto' },
                    items: {
                      type: 'array',
                      'x-kubernetes-list-type': 'map',
                      'x-kubernetes-list-map-keys': ['name'],
                      items: item,
                    },
                    tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
                    options: { type: 'object', additionalProperties: { type: 'string' } },
                    ...properties,
                  },
                },
                status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              },
            },
          },
        },
      ],
    },
  };
}
