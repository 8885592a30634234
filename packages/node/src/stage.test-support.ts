// A cluster in this process on a clock that stands still: the API server, the controllers, and nodes that simulate.
import { createApiServer, loadBuiltins } from '@capstan/apiserver';
import {
  type Client,
  type Clock,
  createClient,
  type Deployment,
  type DeploymentSpec,
  type Logger,
  Pod,
  type PodSpec,
  type Random,
  ReplicaSet,
  silentLogger,
  type Transport,
} from '@capstan/kube';
import { createControllers } from './controllers.ts';
import { createNode, type NodeOptions } from './node/local-node.ts';

export interface Stage {
  readonly client: Client;
  readonly clock: MovableClock;
  /** Lets so much time pass. */
  pass(seconds: number): Promise<void>;
  /** Lets time pass until the condition holds; throws after a minute, or the given number of seconds. */
  until(isSo: () => Promise<boolean>, seconds?: number): Promise<void>;
  /** Stops and starts everything but the API server. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** A clock that tests move by hand: createVirtualClock() of the testing package. */
export interface MovableClock extends Clock {
  advance(ms: number): Promise<void>;
}

export interface StageOptions {
  clock: MovableClock;
  random: Random;
  nodes?: readonly Partial<NodeOptions>[];
  logger?: Logger;
  /** The layer between the server and the tested program; default nothing. */
  between?: (transport: Transport) => Transport;
}

export async function createStage(options: StageOptions): Promise<Stage> {
  const { clock, random, nodes = [{}], logger = silentLogger } = options;
  const server = createApiServer({ clock, random, builtins: sharedBuiltins() });
  const client = createClient({ transport: server.transport(), clock, random, logger });
  const between = options.between ?? ((transport) => transport);
  const common = () => {
    const transport = between(server.transport());
    return { client: createClient({ transport, clock, random, logger }), clock, random, logger };
  };
  const machine = {
    cpus: 4,
    memoryBytes: 8 * 2 ** 30,
    architecture: 'amd64',
    operatingSystem: 'linux',
    kernelVersion: '6.0',
    hostname: 'test',
  };
  let abort = new AbortController();
  let running: Promise<unknown>;

  function start(): void {
    abort = new AbortController();
    const { signal } = abort;
    running = Promise.all([
      createControllers(common()).run(signal),
      ...nodes.map((one) => createNode({ ...common(), machine, ...one }).run(signal)),
    ]);
  }

  async function stop(): Promise<void> {
    abort.abort();
    let isOver = false;
    const over = running.finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.advance(100);
    await over;
  }

  start();
  await clock.advance(1000);
  return {
    client,
    clock,
    pass: (seconds) => clock.advance(seconds * 1000),
    async until(isSo, seconds = 60) {
      for (let passed = 0; passed < seconds * 10; passed++) {
        if (await isSo()) return;
        await clock.advance(100);
      }
      throw new Error(`not reached within ${seconds} s`);
    },
    async restart() {
      await stop();
      start();
      await clock.advance(1000);
    },
    async close() {
      await stop();
      await server.close();
    },
  };
}

/** Loaded once a process: the tables never change. */
const sharedBuiltins = once(loadBuiltins);

function once<V>(make: () => V): () => V {
  let value: V | undefined;
  return () => (value ??= make());
}

export const NAMESPACE = 'default';

export function deployment(name: string, spec: Partial<DeploymentSpec> = {}, pod: Partial<PodSpec> = {}): Deployment {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'example/web:1' }], ...pod } },
      ...spec,
    },
  };
}

export async function podsOf(client: Client, labelSelector = ''): Promise<Pod[]> {
  const { items } = await client.list(Pod, { namespace: NAMESPACE, ...(labelSelector ? { labelSelector } : {}) });
  return items;
}

export async function setsOf(client: Client): Promise<ReplicaSet[]> {
  const { items } = await client.list(ReplicaSet, { namespace: NAMESPACE });
  return items;
}
