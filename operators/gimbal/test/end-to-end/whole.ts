// The whole of Gimbal as a user has it: a demonstration whose remote clusters are reached over HTTPS with read-only tokens,
// discoverers as processes of their own, and the program `gimbal`. Each of these tests goes on where the one before it ended.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createInformer, Deployment, Pod, Service, silentLogger, systemClock } from '@capstan/kube';
import { DiscoveryBackend } from '../../src/index.ts';
import {
  addresses,
  boundSecret,
  gimbal,
  kubeconfigIn,
  makeSecret,
  NAMESPACE,
  phases,
  revoke,
  type StartedWorld,
  services,
  setAddresses,
  until,
  type World,
  weights,
  withToken,
} from './world.ts';

/** Plays it in the world that is started in a folder of its own. */
export function playWhole(title: string, skip: string | false, start: (folder: string) => Promise<StartedWorld>): void {
  describe(title, { timeout: 420_000, skip }, () => {
    let world: World;
    let end: () => Promise<void> = async () => {};

    before(async () => {
      const folder = mkdtempSync(join(tmpdir(), 'capstan-gimbal-'));
      end = async () => rmSync(folder, { recursive: true, force: true });
      const started = await start(folder);
      world = started.world;
      end = async () => {
        await started.stop();
        rmSync(folder, { recursive: true, force: true });
      };
    });
    after(() => end());

    test('services of both remote clusters appear, with their addresses', async () => {
      await until(async () =>
        assert.deepEqual(await services(world), ['east-cart', 'east-web', 'west-cart', 'west-web']),
      );
      await until(async () => assert.deepEqual(await addresses(world, 'east-web'), ['10.1.0.1', '10.1.0.2']));
      await until(async () => assert.deepEqual(await phases(world), { east: 'Running', west: 'Running' }));
      const { code, output } = await gimbal(world, 'backends');
      assert.equal(code, 0);
      assert.match(output, /^east\s+gimbal-discovery\s+kubernetes\s+Running\s+2\s+\d+s ago\s+-$/m);
    });

    test('a change in the remote cluster is a change here', async () => {
      await setAddresses(world, ['10.1.0.1', '10.1.0.9']);
      await until(async () => assert.deepEqual(await addresses(world, 'east-web'), ['10.1.0.1', '10.1.0.9']));
    });

    test('a drain sends traffic elsewhere, and the return gives every weight back', async () => {
      // The kind of these routes was installed after the operator had started: it is searched for every few seconds.
      assert.equal((await gimbal(world, 'drain', 'east')).code, 0);
      await until(async () => assert.deepEqual(await weights(world, 'web'), [0, 30]));
      const drained = await gimbal(world, 'drain', 'east', '--wait');
      // Contour sends everything to the sole service of one of them.
      assert.equal(drained.code, 3, drained.output);
      assert.match(drained.output, /east: draining; 1 of 3 routes are left; 1 without another service/);
      assert.deepEqual(await weights(world, 'web'), [0, 30]);
      assert.deepEqual(await weights(world, 'cart'), [0, 1]);
      const back = await gimbal(world, 'resume', 'east', '--wait');
      assert.equal(back.code, 0, back.output);
      assert.deepEqual(await weights(world, 'web'), [70, 30]);
      assert.deepEqual(await weights(world, 'cart'), [undefined, undefined]);
    });

    test('credentials rotate without a gap, and the old ones may be revoked', async () => {
      const gone: string[] = [];
      const watching = new AbortController();
      const informer = createInformer({
        client: world.hub,
        kind: Service,
        namespace: 'shop',
        clock: systemClock,
        random: Math.random,
        logger: silentLogger,
      });
      informer.subscribe((events) => {
        for (const event of events) if (event.type === 'delete') gone.push(event.object.metadata.name ?? '');
      });
      const watched = informer.run(watching.signal);
      await until(async () => assert.ok(informer.isSynced));

      await boundSecret(world, 'east-a');
      const first = await gimbal(world, 'rotate', 'east', '--secret', 'east-a', '--now', '--wait');
      assert.equal(first.code, 0, first.output);
      await boundSecret(world, 'east-b');
      const rotating = gimbal(world, 'rotate', 'east', '--secret', 'east-b', '--now', '--wait');
      // The changes that happen there meanwhile are not missed.
      let slowest = 0;
      let last = 10;
      for (let isOver = false; !isOver; ) {
        const at = systemClock.now();
        last = 10 + ((last - 9) % 200);
        const wanted = ['10.1.0.1', `10.1.1.${last}`];
        await setAddresses(world, wanted);
        await until(async () => assert.deepEqual(await addresses(world, 'east-web'), wanted));
        slowest = Math.max(slowest, systemClock.now() - at);
        isOver = (await Promise.race([rotating, pause(50)])) !== undefined;
      }
      const second = await rotating;
      assert.equal(second.code, 0, second.output);
      assert.match(second.output, /the credentials in the Secret east-b are in force/);
      assert.ok(slowest < 5_000, `a change took ${slowest} ms`);
      await revoke(world, 'east-a');
      await setAddresses(world, ['10.1.0.1', '10.1.0.2']);
      await until(async () => assert.deepEqual(await addresses(world, 'east-web'), ['10.1.0.1', '10.1.0.2']));
      assert.deepEqual(gone, [], 'nothing was deleted meanwhile');
      watching.abort();
      await watched;
    });

    test('credentials of another cluster, with an unknown token or an exec program are refused; the old ones stay', async () => {
      for (const [name, change, reason] of [
        ['wrong-cluster', (text: string) => world.towardsWest(text), /RotationFailed|WrongCluster/],
        ['nobody', (text: string) => withToken(text, 'nobody'), /RotationFailed/],
        [
          'program',
          (text: string) =>
            text.replace(/"token":"[^"]*"/, '"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"id"}'),
          /RotationFailed/,
        ],
      ] as const) {
        await makeSecret(world, name, change(await kubeconfigIn(world, 'east-b')));
        const refused = await gimbal(world, 'rotate', 'east', '--secret', name, '--now', '--wait', '--timeout', '30s');
        assert.equal(refused.code, 3, refused.output);
        const { status } = await world.hub.get(DiscoveryBackend, { namespace: NAMESPACE, name: 'east' });
        assert.match(status?.conditions?.find(({ type }) => type === 'CredentialsValid')?.reason ?? '', reason);
        assert.equal(status?.credentials?.source, 'east-b');
      }
      const back = await gimbal(world, 'rotate', 'east', '--secret', 'east-b', '--wait', '--timeout', '30s');
      assert.equal(back.code, 0, back.output);
    });

    test('revoked credentials are reported on the backend, and what was discovered stays', async () => {
      await revoke(world, 'east-b');
      await setAddresses(world, ['10.1.0.3']);
      // A watch that is open is not asked for its token again; the next discoverer is.
      const { items } = await world.hub.list(Pod, { namespace: NAMESPACE, labelSelector: 'cluster=east' });
      for (const { metadata } of items)
        await world.hub.delete(Pod, { namespace: NAMESPACE, name: metadata.name ?? '' });
      await until(async () => {
        const { status } = await world.hub.get(DiscoveryBackend, { namespace: NAMESPACE, name: 'east' });
        assert.ok(
          status?.errors?.some(({ type }) => type === 'AuthFailed'),
          JSON.stringify(status?.errors),
        );
      });
      assert.ok((await services(world)).includes('east-web'));
      await boundSecret(world, 'east-c');
      const fixed = await gimbal(world, 'rotate', 'east', '--secret', 'east-c', '--wait');
      assert.equal(fixed.code, 0, fixed.output);
      await until(async () => assert.deepEqual(await addresses(world, 'east-web'), ['10.1.0.3']));
    });

    test('a backend that is deleted takes its discoverer, its services and its references along', async () => {
      await world.hub.delete(DiscoveryBackend, { namespace: NAMESPACE, name: 'east' });
      await until(async () => {
        assert.equal(await world.hub.find(DiscoveryBackend, { namespace: NAMESPACE, name: 'east' }), undefined);
        assert.deepEqual(await services(world), ['west-cart', 'west-web']);
        assert.deepEqual(await weights(world, 'web'), [30]);
        const left = await world.hub.find(Deployment, { namespace: NAMESPACE, name: 'east-kubernetes-discoverer' });
        assert.equal(left, undefined);
      });
      assert.deepEqual(await phases(world), { west: 'Running' });
    });
  });
}
