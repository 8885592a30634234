// The moment of a switch, held still: both ends have both ways, and one end sends on another way than the other does.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { createDrivers } from '../../src/drivers/create-drivers.ts';
import type { CableDriver } from '../../src/drivers/driver.ts';
import { ensureRule, routeStep } from '../../src/drivers/routes.ts';
import type { DriverName } from '../../src/policy/driver-names.ts';
import { cableOf, ping, testKeys } from './traffic.ts';
import { createUnderlay, skip, type TestGateway, type Underlay } from './underlay.ts';

const DRIVERS: readonly Exclude<DriverName, 'none'>[] = ['vxlan', 'wireguard', 'ipsec', 'vxlan+ipsec'];

interface End {
  readonly gateway: TestGateway;
  readonly drivers: ReadonlyMap<DriverName, CableDriver>;
  readonly configs: Map<DriverName, Readonly<Record<string, string>>>;
}

describe('two gateways with all ways between them', { skip }, () => {
  let underlay: Underlay;
  let ends: readonly End[] = [];
  const [a, b] = [() => ends[0] as End, () => ends[1] as End];
  const cable = (from: End, to: End, name: DriverName) => cableOf(from.gateway, to.gateway, to.configs.get(name) ?? {});
  const driverOf = ({ drivers }: End, name: DriverName): CableDriver => {
    const driver = drivers.get(name);
    assert.ok(driver);
    return driver;
  };
  const send = async (from: End, to: End, name: DriverName) => {
    const target = driverOf(from, name).route(cable(from, to, name));
    const { local } = from.gateway;
    await from.gateway.host().apply(to.gateway.local.subnets.map((subnet) => routeStep(subnet, target, local)));
  };

  before(async () => {
    underlay = createUnderlay(['a', 'b']);
    ends = underlay.gateways.map((gateway) => ({
      gateway,
      configs: new Map(),
      drivers: createDrivers({
        names: DRIVERS,
        host: gateway.host(),
        local: gateway.local,
        clock: systemClock,
        keys: testKeys(Buffer.from('a key that only this test knows and uses')),
        wireguardDevice: gateway.wireguardDevice,
      }),
    }));
    for (const end of ends) {
      for (const [name, driver] of end.drivers) end.configs.set(name, await driver.start());
      await ensureRule(end.gateway.host());
    }
    for (const name of DRIVERS)
      await Promise.all([
        driverOf(a(), name).prepare(cable(a(), b(), name)),
        driverOf(b(), name).prepare(cable(b(), a(), name)),
      ]);
  });
  after(async () => {
    for (const { drivers } of ends) for (const driver of drivers.values()) await driver.cleanUp().catch(() => {});
    underlay?.close();
  });

  for (const there of DRIVERS)
    for (const back of DRIVERS.filter((name) => name !== there))
      test(`take packets that come by ${there} and are answered by ${back}`, async () => {
        await send(a(), b(), there);
        await send(b(), a(), back);
        for (const address of [b().gateway.address, b().gateway.address6])
          assert.deepEqual(await ping(a().gateway, address), { sent: 3, received: 3 }, address);
      });
});
