// A refusal of an Envoy is shown on the object of its origin, and is known after a restart.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { EndpointSlice, Ingress, type KubeObject, Lease, Service, silentLogger, systemClock } from '@capstan/kube';
import { createStage } from '@capstan/testing';
import { defaultConfiguration } from '../../src/configuration/index.ts';
import { typeUrl } from '../../src/envoy/index.ts';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { dataPathComponents } from '../../src/program/data-path.ts';
import { createRefusalMemory } from '../../src/program/refusal-memory.ts';
import { connectXds } from '../../src/xds/index.ts';
import { cluster } from '../../src/xds/xds.test-support.ts';
import { inDefault } from './fixtures.ts';

suite('what an Envoy refuses', () => {
  test('is a warning on the HTTPProxy, ExtensionService, Ingress and Service that it comes from', async (context) => {
    let listening: (port: number) => void = () => undefined;
    const port = new Promise<number>((resolve) => {
      listening = resolve;
    });
    const noted: string[] = [];
    const configuration = defaultConfiguration();
    const { operator } = dataPathComponents(
      {
        listen: { address: '127.0.0.1', port: 0 },
        onListening: listening,
        notify: ({ kind, metadata }: KubeObject, { reason, note }) =>
          void noted.push(`${kind} ${metadata.name ?? ''} ${reason} ${note}`),
      },
      { ...configuration, xdsServer: { ...configuration.xdsServer, insecure: true } },
      () => undefined,
    );
    const stage = await createStage({
      operators: [operator],
      runtime: {
        notify: (_world, _operator, { kind, metadata }, { reason, note }) =>
          void noted.push(`${kind} ${metadata.name ?? ''} ${reason} ${note}`),
      },
      async given(client) {
        for (const name of ['web', 'auth', 'old']) {
          await client.create(Service, {
            apiVersion: 'v1',
            kind: 'Service',
            metadata: inDefault(name),
            spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }] },
          });
          await client.create(EndpointSlice, {
            apiVersion: EndpointSlice.apiVersion,
            kind: EndpointSlice.kind,
            metadata: { ...inDefault(name), labels: { 'kubernetes.io/service-name': name } },
            addressType: 'IPv4',
            endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
            ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
          });
        }
        await client.create(HTTPProxy, {
          apiVersion: HTTPProxy.apiVersion,
          kind: HTTPProxy.kind,
          metadata: inDefault('shop'),
          spec: { virtualhost: { fqdn: 'shop.test' }, routes: [{ services: [{ name: 'web', port: 80 }] }] },
        });
        await client.create(Ingress, {
          apiVersion: Ingress.apiVersion,
          kind: Ingress.kind,
          metadata: inDefault('old'),
          spec: { defaultBackend: { service: { name: 'old', port: { number: 80 } } } },
        });
        await client.create(ExtensionService, {
          apiVersion: ExtensionService.apiVersion,
          kind: ExtensionService.kind,
          metadata: inDefault('auth'),
          spec: { protocol: 'h2c', services: [{ name: 'auth', port: 80 }] },
        });
      },
    });
    context.after(() => stage.end());
    const client = connectXds({ host: '127.0.0.1', port: await port, nodeId: 'envoy-1' });
    context.after(() => client.close());
    const stream = client.open({ type: undefined, isDelta: true });
    const refuseAll = async (type: 'cds' | 'eds', count: number) => {
      stream.request({ type_url: typeUrl(type), resource_names_subscribe: ['*'] });
      for (let alone = 0; alone < count; ) {
        const response = await stream.next();
        if (response.resources.size === 1) alone += 1;
        stream.nack(response, `no ${type} pleases it`);
      }
    };
    await refuseAll('cds', 3);
    await refuseAll('eds', 3);
    await client.roundTrip();
    await stage.settle();
    const warnings = async (kind: typeof HTTPProxy | typeof ExtensionService, name: string) => {
      const { status } = await stage.client.get(kind as typeof HTTPProxy, inDefault(name));
      return status?.conditions?.[0]?.warnings?.map(({ reason, message }) => `${reason} ${message}`);
    };
    assert.deepEqual(await warnings(HTTPProxy, 'shop'), ['RefusedByEnvoy envoy-1: no cds pleases it']);
    assert.deepEqual(await warnings(ExtensionService, 'auth'), [
      'RefusedByEnvoy envoy-1: no cds pleases it',
      'RefusedByEnvoy envoy-1: no eds pleases it',
    ]);
    assert.deepEqual(noted.filter((each) => each.includes('RefusedByEnvoy')).sort(), [
      'Ingress old RefusedByEnvoy envoy-1: no cds pleases it',
      'Service old RefusedByEnvoy envoy-1: no eds pleases it',
      'Service web RefusedByEnvoy envoy-1: no eds pleases it',
    ]);
  });

  test('is known to the next Sesame, with the version that is in force', async (context) => {
    const stage = await createStage({ operators: [], ruled: '0034: a replica of Sesame writes its own Lease' });
    context.after(() => stage.end());
    const options = {
      client: stage.client,
      clock: systemClock,
      logger: silentLogger,
      namespace: 'default',
      configuration: 'sesame',
    };
    const first = createRefusalMemory(options);
    const { resources, parts } = await first.load();
    const [accepted, refused] = [cluster('shop', 2), cluster('shop', 3)];
    const { key } = refused;
    resources.remember({ key, version: refused.version('whole'), message: 'no', accepted });
    resources.remember({ key: 'sds/default/tls', version: 'x', message: 'a key', accepted: undefined });
    parts.set('0123', 'a part');
    await first.close();

    const second = createRefusalMemory(options);
    const known = await second.load();
    const found = known.resources.get(key);
    assert.deepEqual([found?.message, found?.version], ['no', refused.version('whole')]);
    assert.equal(found?.accepted?.version('whole'), accepted.version('whole'));
    assert.deepEqual(found?.accepted?.requires, accepted.requires);
    assert.deepEqual([...known.parts], [['0123', 'a part']]);
    // The text of Envoy might quote the secret.
    assert.equal(known.resources.get('sds/default/tls')?.message, 'it was refused before');
    known.resources.forget(key);
    known.resources.forget('sds/default/tls');
    known.parts.delete('0123');
    await second.close();
    const { metadata } = await stage.client.get(Lease, { namespace: 'default', name: 'sesame-refused-sesame' });
    assert.deepEqual(metadata.annotations ?? {}, {});
  });
});
