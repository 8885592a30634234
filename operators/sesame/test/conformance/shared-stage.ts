// The quick way: one Sesame in this process and one Envoy for all Gateways, each with a loopback address of its own.
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startCluster, writeKubeconfig } from '@capstan/apiserver';
import {
  CustomResourceDefinition,
  connect,
  createClient,
  type Logger,
  silentLogger,
  systemClock,
  untilAborted,
} from '@capstan/kube';
import { createAddressPool, createControllers, createForwarder, createNode, type LocalNode } from '@capstan/node';
import { createRuntime, type Leadership } from '@capstan/reconcile';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { localBackendImages } from '../../src/local/envoy-image.ts';
import { testSettings } from '../../src/routing/default-settings.ts';
import { startEnvoy } from '../real/envoy.ts';
import { sharedGateways } from './shared-gateways.ts';
import { createClass, installGatewayApi, type Stage, type StageOptions } from './stage.ts';

export async function sharedStage({ folder, logs, peer }: StageOptions): Promise<Stage> {
  const ending = new AbortController();
  // The node comes after the server, which asks it for logs.
  let node: LocalNode | undefined;
  const cluster = await startCluster({
    clock: systemClock,
    random: Math.random,
    clusters: ['gateway'],
    port: 0,
    readLogs:
      () =>
      async (...asked) => {
        if (!node) throw new Error('the node is not there yet');
        return node.logs(...asked);
      },
  });
  const kubeconfig = join(folder, 'kubeconfig');
  await writeKubeconfig(kubeconfig, cluster.kubeconfig);
  const [only] = cluster.clusters;
  const client = createClient({ transport: await connect({ env: {}, kubeconfig, homeDir: '/', context: 'gateway' }) });
  await installGatewayApi(client, peer);
  for (const kind of [HTTPProxy, TLSCertificateDelegation, ExtensionService])
    await client.create(CustomResourceDefinition, kind.crd());
  const common = { client, clock: systemClock, random: Math.random, logger: silentLogger };
  node = createNode({
    ...common,
    images: localBackendImages(peer),
    dataDir: join(folder, 'pods'),
    addresses: createAddressPool(Math.random),
    ...(only && { apiServer: only.endpoint }),
  });
  const running = [
    createControllers(common).run(ending.signal),
    createForwarder(common).run(ending.signal),
    node.run(ending.signal),
  ];
  const sesame = sharedGateways(
    testSettings((settings) => {
      settings.envoy.http.accessLog = '/dev/null';
      settings.envoy.https.accessLog = '/dev/null';
      settings.envoy.metrics.port = 18_002;
      settings.envoy.health.port = 18_002;
    }),
  );
  const alone: Leadership = { holds: true, onChange: () => () => undefined, run: untilAborted };
  const runtime = createRuntime({
    operators: [sesame.operator],
    clock: systemClock,
    random: Math.random,
    logger: logs === undefined ? silentLogger : fileLogger(join(logs, 'sesame.log')),
    leadership: () => alone,
  });
  runtime.setDigestKey({ id: 'conformance', bytes: Buffer.alloc(32, 1) });
  runtime.addWorld({ name: '', client, namespace: 'projectsesame' });
  running.push(runtime.run(ending.signal));
  const server = await sesame.server;
  const envoy = await startEnvoy({ xdsPort: server.port, mode: 'grpc' });
  await createClass(client);
  return {
    kubeconfig,
    client,
    refused: () =>
      server.reports().flatMap(({ rejections }) => rejections.map(({ key, message }) => `${key}: ${message}`)),
    async end() {
      if (logs !== undefined) {
        await writeFile(join(logs, 'envoy.log'), envoy.log());
        await writeFile(join(logs, 'envoy-config.json'), await envoy.admin('/config_dump'));
      }
      await envoy.stop();
      ending.abort();
      await Promise.allSettled(running);
      await cluster.close();
    },
  };
}

function fileLogger(path: string): Logger {
  const stream = createWriteStream(path);
  const line = (level: string) => (message: string, fields?: object) =>
    void stream.write(`${new Date().toISOString()} ${level} ${message} ${JSON.stringify(fields ?? {})}\n`);
  const logger: Logger = {
    debug: () => undefined,
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    with: () => logger,
  };
  return logger;
}
