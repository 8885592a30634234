// One behaviour for all drivers, tried with the real programs in network namespaces.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { createDrivers } from '../../src/drivers/create-drivers.ts';
import type { Cable, CableDriver } from '../../src/drivers/driver.ts';
import { ensureRule, readRoutes, removeRoutes, routeStep, unrouteStep } from '../../src/drivers/routes.ts';
import type { DriverName } from '../../src/policy/driver-names.ts';
import { cableOf, isEncryptedOnWire, ping, testKeys } from './traffic.ts';
import { createUnderlay, skip, type TestGateway, type Underlay } from './underlay.ts';

const PSK = Buffer.from('a key that only this test knows and uses');
const DRIVERS: readonly Exclude<DriverName, 'none'>[] = ['vxlan', 'wireguard', 'ipsec', 'vxlan+ipsec'];

interface End {
  readonly gateway: TestGateway;
  readonly driver: CableDriver;
  config: Readonly<Record<string, string>>;
}

for (const name of DRIVERS) {
  describe(`the driver ${name}`, { skip }, () => {
    let underlay: Underlay;
    let ends: End[];
    const open = (gateway: TestGateway): End => {
      const drivers = createDrivers({
        names: [name],
        host: gateway.host(),
        local: gateway.local,
        clock: systemClock,
        keys: testKeys(PSK),
        wireguardDevice: gateway.wireguardDevice,
      });
      const driver = drivers.get(name);
      assert.ok(driver);
      return { gateway, driver, config: {} };
    };
    const cable = (from: End, to: End): Cable => cableOf(from.gateway, to.gateway, to.config);
    const connect = async (from: End, to: End) => {
      await from.driver.prepare(cable(from, to));
      const target = from.driver.route(cable(from, to));
      await from.gateway
        .host()
        .apply(to.gateway.local.subnets.map((subnet) => routeStep(subnet, target, from.gateway.local)));
    };
    const join = (one: End, other: End) => Promise.all([connect(one, other), connect(other, one)]);
    const [a, b, c] = [() => ends[0] as End, () => ends[1] as End, () => ends[2] as End];

    before(async () => {
      underlay = createUnderlay(['a', 'b', 'c']);
      ends = underlay.gateways.map(open);
      for (const end of ends) {
        end.config = await end.driver.start();
        await ensureRule(end.gateway.host());
      }
    });
    after(async () => {
      for (const end of ends ?? []) await end.driver.cleanUp().catch(() => {});
      underlay?.close();
    });

    test('connects two gateways in both directions, and reports them as connected', async () => {
      await join(a(), b());
      assert.deepEqual(await ping(a().gateway, b().gateway.address), { sent: 3, received: 3 });
      assert.deepEqual(await ping(b().gateway, a().gateway.address), { sent: 3, received: 3 });
      const states = await a().driver.inspect();
      assert.equal(states.get(a().driver.keyOf(cable(a(), b())))?.state, 'connected');
    });

    test('carries IPv6 between the same gateways', async () => {
      assert.deepEqual(await ping(a().gateway, b().gateway.address6), { sent: 3, received: 3 });
      assert.deepEqual(await ping(b().gateway, a().gateway.address6), { sent: 3, received: 3 });
    });

    test(
      name === 'vxlan' ? 'shows its packets on the underlay' : 'shows nothing in clear on the underlay',
      async () => {
        assert.equal(await isEncryptedOnWire(underlay, a().gateway, b().gateway), name !== 'vxlan');
      },
    );

    test('changes nothing when the cable is there already', async () => {
      const before = await a().driver.inspect();
      await join(a(), b());
      assert.deepEqual([...(await a().driver.inspect()).keys()], [...before.keys()]);
    });

    test('connects a third without a loss on the first, and removes it again', async () => {
      const running = ping(a().gateway, b().gateway.address, { count: 60, intervalMs: 20 });
      await join(a(), c());
      assert.deepEqual(await ping(a().gateway, c().gateway.address), { sent: 3, received: 3 });
      await a().gateway.host().apply(c().gateway.local.subnets.map(unrouteStep));
      await a().driver.remove(cable(a(), c()));
      await c().driver.remove(cable(c(), a()));
      assert.deepEqual(await running, { sent: 60, received: 60 });
      assert.deepEqual([...(await a().driver.inspect()).keys()], [a().driver.keyOf(cable(a(), b()))]);
    });

    test('is adopted by the next process without a loss', async () => {
      const running = ping(a().gateway, b().gateway.address, { count: 60, intervalMs: 20 });
      const next = open(a().gateway);
      next.config = await next.driver.start();
      assert.deepEqual(next.config, a().config);
      await next.driver.prepare(cable(next, b()));
      assert.equal((await next.driver.inspect()).get(next.driver.keyOf(cable(next, b())))?.state, 'connected');
      assert.deepEqual(await running, { sent: 60, received: 60 });
      ends[0] = next;
    });

    test('removes all that it made, and nothing else', async () => {
      const host = a().gateway.host();
      await host.apply([{ tool: 'ip', args: 'route add 10.200.0.0/16 dev cni0 table 100'.split(' ') }]);
      await a().driver.cleanUp();
      await removeRoutes(host);
      const links = (await host.query('ip', 'link', 'show')).map(({ ifname }) => String(ifname));
      assert.deepEqual(links.toSorted(), ['cni0', 'lo', 'veth0']);
      assert.deepEqual([...(await readRoutes(host)).keys()], []);
      const left = await host.query('ip', 'route', 'show', 'table', '100');
      assert.deepEqual(
        left.map(({ dst }) => dst),
        ['10.200.0.0/16'],
      );
      const addresses = await host.query('ip', 'addr', 'show', 'dev', 'lo');
      const found = addresses.flatMap(({ addr_info: list }) => (list as { local: string }[]).map(({ local }) => local));
      assert.deepEqual(found, ['127.0.0.1', '::1']);
    });
  });
}
