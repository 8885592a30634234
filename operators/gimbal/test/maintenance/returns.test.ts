import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CustomResourceDefinition, EndpointSlice } from '@capstan/kube';
import { DiscoveryBackend } from '../../src/index.ts';
import { condition, type Played, played, proxy, ref } from './fixtures.ts';

const isDrained = { status: 'True', reason: 'Drained' };

describe('case 28: nonsense in clusterStatus', () => {
  test('is refused, and changes nothing where it is not', () =>
    played({ objects: [proxy('r', { 'x-a': 50, 'y-b': 50 })] }, async (stage) => {
      const { client } = stage;
      await stage.setStatus('x', 'Maintenance');
      await assert.rejects(client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus: 'Enbaled' } }));
      // A CustomResourceDefinition of a user who left the rules out.
      const { items } = await client.list(CustomResourceDefinition);
      const crd = structuredClone(
        items.find(({ metadata }) => metadata.name === 'discoverybackends.gimbal.heptio.com'),
      );
      const properties = crd?.spec.versions[0]?.schema?.openAPIV3Schema?.properties?.['spec']?.properties;
      if (crd === undefined || properties === undefined) throw new Error('there is no schema to loosen');
      properties['clusterStatus'] = { type: 'string' };
      await client.update(CustomResourceDefinition, crd);
      const misspell = () =>
        client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus: 'Enbaled' } }).then(
          () => true,
          () => false,
        );
      // A real server goes on with the old rules for a moment.
      for (let tries = 0; !(await misspell()); tries++) {
        assert.ok(tries < 100, 'the loosened definition is not in force');
        await stage.pass(100);
      }
      await stage.settle();
      assert.deepEqual(condition(await stage.backend(), 'Accepted'), { status: 'False', reason: 'InvalidSpec' });
      assert.deepEqual(await stage.weights(), [0, 50]);
      await stage.restart();
      assert.deepEqual(await stage.weights(), [0, 50]);
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [50, 50]);
    }));
});

describe('the return', () => {
  const slice = (isReady: boolean): EndpointSlice => ({
    apiVersion: EndpointSlice.apiVersion,
    kind: 'EndpointSlice',
    metadata: { ...ref('x-a-1'), labels: { 'kubernetes.io/service-name': 'x-a' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: isReady } }],
    ports: [{ port: 80 }],
  });
  const report = (stage: Played, synced: boolean) =>
    stage.client.patch(
      DiscoveryBackend,
      ref('x'),
      'merge',
      { status: { discovery: { synced } } },
      { subresource: 'status' },
    );
  const scene = { objects: [proxy('r', { 'x-a': 50, 'y-b': 50 })] };

  test('case 29: waits for the discoverer to see the remote side again', () =>
    played(scene, async (stage) => {
      await report(stage, false);
      await stage.setStatus('x', 'Maintenance');
      await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus: 'Enabled' } });
      await stage.clock.advance(20_000);
      assert.deepEqual(await stage.weights(), [0, 50]);
      assert.equal((await stage.backend()).status?.maintenance?.state, 'Restoring');
      await report(stage, true);
      await stage.settle();
      assert.deepEqual(await stage.weights(), [50, 50]);
    }));

  test('case 30: waits for ready endpoints', () =>
    played(scene, async (stage) => {
      await stage.client.create(EndpointSlice, slice(false));
      await stage.setStatus('x', 'Maintenance');
      await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus: 'Enabled' } });
      await stage.clock.advance(20_000);
      assert.deepEqual(await stage.weights(), [0, 50]);
      assert.equal((await stage.backend()).status?.maintenance?.blocked?.[0]?.reason, 'Holding');
      await stage.client.update(EndpointSlice, {
        ...(await stage.client.get(EndpointSlice, ref('x-a-1'))),
        ...pick(slice(true)),
      });
      await stage.settle();
      assert.deepEqual(await stage.weights(), [50, 50]);
      assert.equal((await stage.backend()).status?.maintenance?.state, 'Active');
    }));
  const pick = ({ endpoints }: EndpointSlice) => (endpoints === undefined ? {} : { endpoints });

  test('case 30: but not for ever', () =>
    played(scene, async (stage) => {
      await stage.client.create(EndpointSlice, slice(false));
      await stage.setStatus('x', 'Maintenance');
      await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus: 'Enabled' } });
      await stage.clock.advance(110_000);
      assert.deepEqual(await stage.weights(), [0, 50]);
      await stage.clock.advance(20_000);
      await stage.settle();
      assert.deepEqual(await stage.weights(), [50, 50]);
      assert.ok(stage.events().includes('ReturnedUnready'));
    }));

  test('case 31: a ramp goes down in five steps, and up again', () =>
    played({ ...scene, x: { maintenance: { rampSeconds: 60 } } }, async (stage) => {
      const follow = async () => {
        const seen: string[] = [];
        for (let second = 0; second < 70; second++) {
          await stage.clock.advance(1000);
          const now = String(await stage.weights());
          if (seen.at(-1) !== now) seen.push(now);
        }
        return seen;
      };
      await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus: 'Maintenance' } });
      assert.deepEqual(await follow(), ['4000,5000', '3000,5000', '2000,5000', '1000,5000', '0,50']);
      assert.deepEqual(condition(await stage.backend(), 'Drained'), isDrained);
      await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus: 'Enabled' } });
      assert.deepEqual(await follow(), ['1000,5000', '2000,5000', '3000,5000', '4000,5000', '50,50']);
      assert.deepEqual(condition(await stage.backend(), 'Drained'), { status: 'False', reason: 'Enabled' });
    }));

  test('a part of the weight can be taken away', () =>
    played({ ...scene, x: { maintenance: { drainPercent: 40 } } }, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      assert.deepEqual(await stage.weights(), [3000, 5000]);
      assert.deepEqual(condition(await stage.backend(), 'Drained'), { status: 'False', reason: 'PartialDrain' });
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [50, 50]);
    }));

  test('a scheduled window begins and ends by itself', () =>
    played(scene, async (stage) => {
      const begin = stage.clock.now();
      const at = (minutes: number) => new Date(begin + minutes * 60_000).toISOString();
      await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', {
        spec: { maintenance: { schedule: [{ start: at(60), end: at(120) }] } },
      });
      await stage.settle();
      assert.deepEqual(await stage.weights(), [50, 50]);
      await stage.clock.advance(61 * 60_000);
      assert.deepEqual(await stage.weights(), [0, 50]);
      await stage.clock.advance(60 * 60_000);
      assert.deepEqual(await stage.weights(), [50, 50]);
    }));
});
