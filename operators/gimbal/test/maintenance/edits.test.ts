// Edits between a drain and its end, on a cluster: a weight that cannot be restored is reported on the backend and in an Event.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DiscoveryBackend } from '../../src/index.ts';
import { DRAINED_ANNOTATION, MAINTENANCE_ANNOTATION } from '../../src/maintenance/index.ts';
import { condition, HTTPProxy, played, proxy, ref, stateOn } from './fixtures.ts';

const scene = { objects: [proxy('r', { 'x-a': 40, 'y-b': 60 })] };

describe('an edit while the backend is drained', () => {
  test('an edit of a port while the backend is drained loses no weight', () =>
    played(scene, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      await stage.edit(({ routes }) => {
        for (const one of routes[0]?.services ?? []) one.port = 81;
      });
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [40, 60]);
      assert.equal(stateOn(await stage.route()), undefined);
    }));

  test('an edit that renames the drained service within its backend resumes it with its weight, also after a restart', () =>
    played(scene, async (stage) => {
      const rename = (name: string) =>
        stage.edit(({ routes }) => {
          const [first] = routes[0]?.services ?? [];
          if (first !== undefined) first.name = name;
        });
      await stage.setStatus('x', 'Maintenance');
      await rename('x-b');
      assert.deepEqual(await stage.weights(), [0, 60], 'it stays drained');
      assert.deepEqual(condition(await stage.backend(), 'Drained')?.status, 'True');
      await stage.restart();
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [40, 60]);
      assert.ok(!stage.events().includes('AmbiguousWeight'));
      assert.equal(stateOn(await stage.route()), undefined);
    }));

  test('an edit that leads the drained service to another backend is reported until its weight is set', () =>
    played(scene, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      await stage.edit(({ routes }) => {
        const [first] = routes[0]?.services ?? [];
        if (first !== undefined) first.name = 'z-c';
      });
      await stage.setStatus('x', 'Enabled');
      assert.deepEqual(await stage.weights(), [0, 60]);
      assert.ok(stage.events().includes('AmbiguousWeight'));
      const x = await stage.backend();
      assert.deepEqual(condition(x, 'WeightsRestored'), { status: 'False', reason: 'AmbiguousWeight' });
      assert.equal(
        x.status?.conditions?.find(({ type }) => type === 'WeightsRestored')?.message,
        'HTTPProxy default/r: routes[0] default/z-c:80: the weight before maintenance was 40, now it is 0; set the one that is meant',
      );
      assert.equal(x.status?.maintenance?.state, 'Active');
      stage.transport.clear();
      await stage.restart();
      assert.deepEqual(stage.transport.writes, [], 'it is settled');
      await stage.edit(({ routes }) => {
        const [first] = routes[0]?.services ?? [];
        if (first !== undefined) first.weight = 40;
      });
      assert.deepEqual(condition(await stage.backend(), 'WeightsRestored'), { status: 'True', reason: 'Restored' });
      assert.equal(stateOn(await stage.route()), undefined);
    }));

  test('an edit that removes our annotations while the operator is down loses no weight', () =>
    played(scene, async (stage) => {
      await stage.setStatus('x', 'Maintenance');
      await stage.clock.advance(10_000);
      await stage.settle();
      await stage.program.stop();
      await stage.client.patch(HTTPProxy, ref('r'), 'merge', {
        metadata: { annotations: { [MAINTENANCE_ANNOTATION]: null, [DRAINED_ANNOTATION]: null } },
      });
      await stage.restart();
      assert.deepEqual(await stage.weights(), [0, 60]);
      await stage.client.patch(DiscoveryBackend, ref('x'), 'merge', { spec: { clusterStatus: 'Enabled' } });
      await stage.settle();
      assert.deepEqual(await stage.weights(), [40, 60]);
      assert.equal(stateOn(await stage.route()), undefined);
    }));
});
