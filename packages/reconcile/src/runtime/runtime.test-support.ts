// The shared parts of the tests of a whole runtime: a kind whose objects want one ConfigMap each, and a runtime on a cluster of its own
// with a client and a lease that the test controls. Only *.test.ts import it.
import {
  ApiError,
  type Client,
  ConfigMap,
  conditions,
  createClient,
  defineKind,
  type KindOf,
  object,
  optional,
  silentLogger,
  string,
} from '@capstan/kube';
import { createRandom, createTestCluster, createVirtualClock, objectOf, type VirtualClock } from '@capstan/testing';
import { type Operator, operator } from '../operator.ts';
import { apply, plan } from '../plan/index.ts';
import { reconciler } from '../reconciler.ts';
import { createRuntime } from './runtime.ts';
import { type Runtime, type RuntimeOptions } from './runtime-types.ts';

export const Thing = defineKind({
  group: 'test.capstan.dev',
  version: 'v1',
  kind: 'Thing',
  scope: 'Namespaced',
  spec: object({ value: string() }),
  status: object({ conditions: conditions(), seen: optional(string()) }),
});
export type Thing = KindOf<typeof Thing>;

export const thing = (name: string, value = 'a'): Thing =>
  objectOf<Thing>(Thing, { metadata: ref(name), spec: { value } });
export const ref = (name: string) => ({ namespace: 'default', name });

/** Every thing wants a ConfigMap of its name. */
export const things = reconciler<Thing>({
  name: 'things',
  resource: Thing,
  writes: [ConfigMap],
  reconcile: ({
    object: {
      metadata: { name = '', namespace = '' },
      spec,
    },
  }) => plan({ children: [apply(ConfigMap, { metadata: { name, namespace }, data: { value: spec.value } })] }),
});
export const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [things] })];

export interface RunningRuntime {
  readonly clock: VirtualClock;
  /** The test's own. */
  readonly client: Client;
  readonly runtime: Runtime;
}

/** Runs a check on a runtime whose client is the result of `through` for the plain one. */
export async function onRuntime(
  options: Partial<RuntimeOptions> & {
    operators?: readonly Operator[];
    through?: (client: Client, clock: VirtualClock) => Client;
    given?: (client: Client) => Promise<void>;
    /** Called with the time at which the runtime has ended. */
    onEnd?: (at: number) => void;
  },
  check: (running: RunningRuntime) => Promise<void>,
): Promise<void> {
  const { through = (client) => client, given, onEnd, ...rest } = options;
  const clock = createVirtualClock();
  const random = createRandom(1);
  const cluster = await createTestCluster({ clock, random, operators: rest.operators ?? operators });
  await given?.(cluster.client);
  const runtime = createRuntime({ operators, clock, random, logger: silentLogger, checkFields: true, ...rest });
  runtime.setDigestKey({ id: 'test', bytes: new Uint8Array(32) });
  const own = createClient({ transport: cluster.transport(), clock, random, logger: silentLogger });
  runtime.addWorld({ name: '', client: through(own, clock) });
  const stop = new AbortController();
  const ended = runtime.run(stop.signal).then(() => onEnd?.(clock.now()));
  try {
    await clock.advance(1000);
    await check({ clock, client: cluster.client, runtime });
  } finally {
    stop.abort();
    await clock.advance(60_000);
    await ended;
    await cluster.close();
  }
}

/** A client with one method replaced; the replacement gets the real call. */
export function replacing(
  client: Client,
  method: 'apply' | 'find' | 'create' | 'patch',
  replacement: (call: () => Promise<unknown>, ...args: readonly unknown[]) => Promise<unknown>,
): Client {
  return new Proxy(client, {
    get(real, name, receiver) {
      const value = Reflect.get(real, name, receiver) as unknown;
      if (name !== method || typeof value !== 'function') return value;
      return (...args: unknown[]) =>
        replacement(() => (value as (...given: unknown[]) => Promise<unknown>).apply(real, args), ...args);
    },
  });
}

/** An answer that refuses a write. */
export function refusal(code: number, reason: string, message: string): ApiError {
  const status = { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', reason, message, code } as const;
  return new ApiError({ code, status, method: 'PATCH', path: '/', address: 'test' });
}
