// The embedded cluster with the operator, on the system clock. Its node runs the proxy's image as the real proxy.
import { type Client, silentLogger, systemClock } from '@capstan/kube';
import { createAddressPool, createControllers, createForwarder, createNode, type LocalNode } from '@capstan/node';
import { createRandom, createTestCluster, startIncarnation } from '@capstan/testing';
import { createKroxylicious } from '../../src/index.ts';
import { localProxyImages } from '../../src/local/proxy-image.ts';
import { folder } from './programs.ts';

export interface LocalCluster {
  readonly client: Client;
  readonly node: LocalNode;
  /** Settles once all processes have ended. */
  stop(): Promise<void>;
}

export async function startLocalCluster(dataDir: string): Promise<LocalCluster> {
  const operator = createKroxylicious();
  // Clusters of other test files run at the same time and must have other addresses.
  const random = createRandom(process.pid);
  const clock = systemClock;
  const cluster = await createTestCluster({ clock, random, operators: [operator] });
  const program = startIncarnation({ operators: [operator], transport: cluster.transport(), clock, random });
  const common = { client: cluster.client, clock, random, logger: silentLogger };
  const images = localProxyImages(folder);
  const node = createNode({ ...common, images, dataDir, addresses: createAddressPool(random) });
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = Promise.all([
    createControllers(common).run(signal),
    node.run(signal),
    createForwarder({ ...common, nodeAddress: null }).run(signal),
  ]);
  return {
    client: cluster.client,
    node,
    async stop() {
      await program.stop();
      stopping.abort();
      await running;
      await cluster.close();
    },
  };
}
