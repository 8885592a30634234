// A Sesame that is gone leaves no finalizer on its configuration.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lease, systemClock } from '@capstan/kube';
import { freePorts } from '@capstan/testing';
import { INSTANCE_ANNOTATION, INSTANCE_LABEL } from '../../src/configuration/instance-record.ts';
import { CONFIGURATION_FINALIZER } from '../../src/deployment/finalizer.ts';
import { SesameConfiguration } from '../../src/kinds/index.ts';
import { releaseConfiguration } from '../../src/program/release-configuration.ts';
import { configuration, NAMESPACE, ref, served, until } from './fixtures.ts';

test('the last replica that ends in order releases the configuration, and no other', () =>
  served(async ({ cluster, start, becomes }) => {
    const finalizers = async () => (await cluster.client.get(SesameConfiguration, ref())).metadata.finalizers ?? [];
    await cluster.client.create(SesameConfiguration, configuration());
    const replicas = [await start({ flags: await ownPorts() }), await start({ flags: await ownPorts() })] as const;
    const [first, second] = replicas;
    await until(async () => {
      const { status } = await cluster.client.get(SesameConfiguration, ref());
      return status?.instances?.length === 2 ? true : undefined;
    }, 'both replicas');
    await becomes('Applied', 'True');
    assert.deepEqual(await finalizers(), [CONFIGURATION_FINALIZER]);
    await first.stop();
    assert.deepEqual(await finalizers(), [CONFIGURATION_FINALIZER]);
    await second.stop();
    assert.deepEqual(await finalizers(), []);
    await cluster.client.delete(SesameConfiguration, ref());
    assert.equal(await cluster.client.find(SesameConfiguration, ref()), undefined);
  }));

async function ownPorts(): Promise<string[]> {
  const [health = 0, xds = 0] = await freePorts(2);
  const addresses = ['--health-address=127.0.0.1', '--http-address=127.0.0.1'];
  return [`--health-port=${health}`, `--http-port=${health}`, `--xds-port=${xds}`, ...addresses];
}

test('a configuration is released by hand when no replica is alive, and keeps finalizers of others', () =>
  served(async ({ cluster: { client } }) => {
    const others = 'example.com/backup';
    const { metadata, ...content } = configuration({}, 'left');
    await client.create(SesameConfiguration, {
      ...content,
      metadata: { ...metadata, finalizers: [CONFIGURATION_FINALIZER, others] },
    });
    const lease = (renewTime: number): Lease => ({
      apiVersion: Lease.apiVersion,
      kind: Lease.kind,
      metadata: {
        namespace: NAMESPACE,
        name: 'sesame-killed',
        labels: { [INSTANCE_LABEL]: 'true' },
        annotations: {
          [INSTANCE_ANNOTATION]: JSON.stringify({
            configuration: 'left',
            state: 'Running',
            source: 'resource',
            nacks: [],
          }),
        },
      },
      spec: {
        holderIdentity: 'killed',
        leaseDurationSeconds: 30,
        renewTime: new Date(renewTime).toISOString().replace('Z', '000Z'),
      },
    });
    const now = systemClock.now();
    await client.create(Lease, lease(now));
    const at = { client, namespace: NAMESPACE, name: 'left' };
    assert.deepEqual(await releaseConfiguration({ ...at, clock: { now: () => now } }), { is: 'used', by: ['killed'] });
    assert.deepEqual(await releaseConfiguration({ ...at, clock: { now: () => now + 31_000 } }), { is: 'released' });
    assert.deepEqual((await client.get(SesameConfiguration, ref('left'))).metadata.finalizers, [others]);
    assert.deepEqual(await releaseConfiguration({ ...at, clock: { now: () => now } }), { is: 'free' });
    assert.deepEqual(await releaseConfiguration({ ...at, name: 'none', clock: { now: () => now } }), { is: 'absent' });
  }));
