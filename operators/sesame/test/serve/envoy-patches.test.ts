// Patches of generated resources in the status of their SesameConfiguration, and in an explanation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Service } from '@capstan/kube';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { runCommand } from '../commands/command-io.ts';
import { inDefault, NAMESPACE, served, servers, until } from './fixtures.ts';

const patch = (name: string, resource: string, path: string, value: unknown) => ({
  name,
  type: 'Cluster',
  resource,
  operations: [{ op: 'add', path, value }],
});

test('patches that are left out are warnings of the configuration, which is valid and applied', () =>
  served(async (stage) => {
    const { client } = stage.cluster;
    await client.create(Service, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: inDefault('shop'),
      spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }] },
    });
    await client.create(HTTPProxy, {
      apiVersion: HTTPProxy.apiVersion,
      kind: HTTPProxy.kind,
      metadata: inDefault('shop'),
      spec: { virtualhost: { fqdn: 'shop.test' }, routes: [{ services: [{ name: 'shop', port: 80 }] }] },
    });
    const replica = await stage.start();
    const warnings = async (count: number, envoyPatches: object[]) => {
      const generation = await stage.apply(servers(replica, { envoyPatches }));
      await stage.becomes('Applied', 'True', generation);
      await stage.becomes('Valid', 'True', generation);
      return until(async () => {
        const found = (await stage.condition('Valid'))?.warnings ?? [];
        return found.length === count ? found : undefined;
      }, `${count} warnings`);
    };
    const good = patch('connect', 'default/shop/80', '/connect_timeout', '9s');
    const ofBoth = await warnings(4, [
      good,
      { ...patch('Bad Name', 'default/shop/80', 'connect_timeout', '9s'), type: 'Secret' },
      patch('renamed', 'default/shop/80', '/name', 'default/other/80'),
    ]);
    const found = ofBoth.map(({ type, reason, message }) => `${type} ${reason} ${message}`).toSorted();
    const expected = [
      /^PatchRefused InvalidValue spec\.envoyPatches\[1\]\.name: must be a name of lower-case letters/,
      /^PatchRefused InvalidValue spec\.envoyPatches\[1\]\.operations\[0\]\.path: must begin with a slash/,
      /^PatchRefused NotSupported spec\.envoyPatches\[1\]\.type: must be Cluster, .* \("Secret"\); secrets cannot be patched/,
      /^PatchRefused Protected spec\.envoyPatches\[2\]\.operations\[0\]: renamed is left out for Cluster default\/shop\/80\//,
    ];
    for (const [index, pattern] of expected.entries()) assert.match(found[index] ?? '', pattern);
    const explain = () =>
      runCommand(`explain shop.test -n ${NAMESPACE}`, {}, { transport: () => stage.cluster.transport() });
    const { out } = await explain();
    assert.match(out, /is patched by connect \(add \/connect_timeout\): SesameConfiguration, envoyPatches\[0\]\n/);
    assert.match(
      out,
      /is not patched by renamed \(\/name is protected: .*\): SesameConfiguration, envoyPatches\[2\]\n/,
    );
    assert.doesNotMatch(out, /Bad Name/);

    await warnings(0, [good]);
  }));
