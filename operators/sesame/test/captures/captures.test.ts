import { type Client, type Kind, Namespace, Service } from '@capstan/kube';
import { type Stage, testKeptCaptures } from '@capstan/testing';
import { defaultConfiguration } from '../../src/configuration/index.ts';
import { createSesame, HTTPProxy, SesameDeployment } from '../../src/index.ts';
import { dataPathComponents } from '../../src/program/data-path.ts';

const START = Date.UTC(2026, 0, 1);
const EDGE = { namespace: 'edge', name: 'edge' };

/** The controllers of `sesame serve`. */
function serve() {
  const configuration = defaultConfiguration();
  const insecure = { ...configuration, xdsServer: { ...configuration.xdsServer, insecure: true } };
  return dataPathComponents({ listen: { address: '127.0.0.1', port: 0 } }, insecure, () => undefined).operator;
}

async function create(client: Client, kind: Kind, name: string, parts: object = {}): Promise<void> {
  const metadata = kind === Namespace ? { name } : { namespace: EDGE.namespace, name };
  await client.create(kind, { apiVersion: kind.apiVersion, kind: kind.kind, metadata, ...parts });
}

/** Certificates are created in the thread pool. */
async function settle(stage: Stage): Promise<void> {
  await stage.settle();
  for (let turn = 0; turn < 2000 && !stage.program.runtime.isIdle; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    await stage.settle();
  }
}

const proxy = (service: string) => ({
  spec: { virtualhost: { fqdn: 'shop.example' }, routes: [{ services: [{ name: service, port: 80 }] }] },
});

const folder = new URL('.', import.meta.url);

testKeptCaptures({
  folder,
  operators: () => [serve()],
  captures: {
    'a-service-that-is-missing-for-a-while': {
      async given(client) {
        await create(client, Namespace, EDGE.namespace);
        await create(client, HTTPProxy, 'shop', proxy('web'));
      },
      async act(stage) {
        await stage.settle();
        await create(stage.client, Service, 'web', { spec: { ports: [{ name: 'http', port: 80 }] } });
        await stage.settle();
      },
    },
  },
});

testKeptCaptures({
  folder,
  operators: () => [createSesame({ now: () => START })],
  captures: {
    'another-health-port': {
      async given(client) {
        await create(client, Namespace, EDGE.namespace);
        await create(client, SesameDeployment, EDGE.name, { spec: { replicas: 2 } });
      },
      async act(stage) {
        await settle(stage);
        const spec = { configuration: { health: { port: 8101 } } };
        await stage.client.patch(SesameDeployment, EDGE, 'merge', { spec });
        await settle(stage);
      },
    },
  },
});
