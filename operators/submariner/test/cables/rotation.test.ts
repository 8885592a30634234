// Keys and options that change while cables are up. What a gateway publishes reaches the other one as it does over a broker.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLogger, systemClock } from '@capstan/kube';
import { createDrivers } from '../../src/drivers/create-drivers.ts';
import { openVici } from '../../src/drivers/vici.ts';
import { userspaceDevice } from '../../src/drivers/wireguard-device.ts';
import { presharedKeyOf } from '../../src/drivers/wireguard-keys.ts';
import { type CableEngine, createCableEngine, type DriverStart } from '../../src/gateway/cable-engine.ts';
import type { DriverName } from '../../src/policy/driver-names.ts';
import { until } from '../gateway/set.ts';
import { cableOf, ping, pingOutage, testKeys } from './traffic.ts';
import { createUnderlay, skip, type TestGateway, type Underlay } from './underlay.ts';

const [OLD, NEW] = [Buffer.from('the old key, thirty-two bytes.. '), Buffer.from('another key of thirty-two bytes.')];

interface End {
  readonly gateway: TestGateway;
  readonly engine: CableEngine;
  starts: ReadonlyMap<DriverName, DriverStart>;
  keys: readonly Buffer[];
  options: Record<string, string>;
  stop(): Promise<void>;
}

describe('two gateways', { skip }, () => {
  let underlay: Underlay;
  let ends: readonly [End, End];
  let driver: DriverName = 'wireguard';

  const open = (gateway: TestGateway, changed: () => void): End => {
    const host = gateway.host();
    const end = {
      gateway,
      keys: [OLD] as readonly Buffer[],
      options: {},
      starts: new Map() as ReadonlyMap<DriverName, DriverStart>,
    };
    const drivers = createDrivers({
      names: ['vxlan', 'wireguard', 'ipsec'],
      host,
      local: gateway.local,
      clock: systemClock,
      keys: () => testKeys(...end.keys)(),
      options: () => end.options,
      wireguardDevice: gateway.wireguardDevice,
      announceMs: 500,
    });
    const life = new AbortController();
    const engine = createCableEngine({
      host,
      drivers,
      sources: gateway.local,
      clock: systemClock,
      logger: silentLogger,
      drainMs: 300,
      onStarts(starts) {
        end.starts = starts;
        changed();
      },
    });
    const watching = engine.watch(life.signal, () => {});
    const stop = async () => {
      life.abort();
      await watching;
      await engine.withdraw().catch(() => {});
    };
    return Object.assign(end, { engine, stop });
  };
  const connect = async () => {
    const [a, b] = ends;
    await Promise.all(
      [
        [a, b],
        [b, a],
      ].map(([from, to]) => {
        const start = (to as End).starts.get(driver);
        const config = start !== undefined && 'config' in start ? start.config : {};
        const cable = cableOf((from as End).gateway, (to as End).gateway, config);
        return (from as End).engine.apply(new Map([[cable.name, { driver, policy: 'test', cable }]]));
      }),
    );
  };
  const associations = async ({ gateway }: End) => {
    const vici = await openVici(join(gateway.runDir, 'charon.vici'));
    try {
      return await vici.stream('list-sas', 'list-sa');
    } finally {
      vici.close();
    }
  };
  const published = ({ starts }: End) => {
    const start = starts.get('wireguard');
    return start !== undefined && 'config' in start ? start.config : {};
  };

  before(async () => {
    underlay = createUnderlay(['a', 'b']);
    const [a, b] = underlay.gateways;
    assert.ok(a && b);
    let hasStarted = false;
    const changed = () => {
      if (hasStarted) void connect();
    };
    ends = [open(a, changed), open(b, changed)];
    for (const { engine } of ends) await engine.start();
    hasStarted = true;
    await connect();
  });
  after(async () => {
    for (const end of ends ?? []) await end.stop();
    underlay?.close();
  });

  test('change the pre-shared key of WireGuard one after the other without a loss', async () => {
    const [a, b] = ends;
    const running = ping(a.gateway, b.gateway.address, { count: 100, intervalMs: 20 });
    const used = async () =>
      Promise.all(
        ends.map(async ({ gateway }) => {
          const { peers } = await userspaceDevice(gateway.wireguardDevice).read();
          return [...peers.values()].map(({ presharedKey }) => presharedKey).join();
        }),
      );
    assert.deepEqual(await used(), [presharedKeyOf(OLD), presharedKeyOf(OLD)]);
    a.keys = [NEW, OLD];
    await a.engine.reconfigure();
    assert.deepEqual(await used(), [presharedKeyOf(OLD), presharedKeyOf(OLD)], 'b does not know the new key yet');
    b.keys = [NEW, OLD];
    await b.engine.reconfigure();
    await until('both use the new key', 3000, async () => (await used()).every((each) => each === presharedKeyOf(NEW)));
    assert.deepEqual(await running, { sent: 100, received: 100 });
  });

  test('replace a key of WireGuard at the end of its life with an outage under 400 ms', async () => {
    const [a, b] = ends;
    const before = published(a)['publicKey'];
    const running = pingOutage(a.gateway, b.gateway.address, { count: 250, intervalMs: 20 });
    a.options = { keyLifetime: '1s' };
    await until('the key is replaced', 8000, () => Promise.resolve(published(a)['publicKey'] !== before));
    a.options = {};
    const { outageMs, received } = await running;
    assert.ok(outageMs < 400, `no answer for ${outageMs} ms (${received} of 250)`);
    const { peers } = await userspaceDevice(b.gateway.wireguardDevice).read();
    assert.deepEqual([...peers.keys()], [published(a)['publicKey']], 'the old key is gone');
  });

  test('change the pre-shared key of IPsec without a loss, and open new connections with the new one alone', async () => {
    const [a, b] = ends;
    driver = 'ipsec';
    for (const end of ends) {
      end.keys = [OLD];
      await end.engine.reconfigure();
    }
    await connect();
    // What was under way on the old cable is over.
    assert.deepEqual(await ping(a.gateway, b.gateway.address, { count: 20, intervalMs: 50 }), {
      sent: 20,
      received: 20,
    });
    const running = ping(a.gateway, b.gateway.address, { count: 100, intervalMs: 20 });
    a.keys = [NEW, OLD];
    await a.engine.reconfigure();
    b.keys = [NEW];
    await b.engine.reconfigure();
    assert.deepEqual(await running, { sent: 100, received: 100 });
    a.keys = [NEW];
    await a.engine.reconfigure();
    driver = 'vxlan';
    await connect();
    await until('the old cable is gone', 6000, async () => (await associations(a)).length === 0);
    driver = 'ipsec';
    await connect();
    assert.deepEqual(await ping(a.gateway, b.gateway.address), { sent: 3, received: 3 });
  });

  test('take another port for IPsec: charon is restarted, and the cable comes back', async () => {
    const [a, b] = ends;
    for (const end of ends) end.options = { 'ipsec.port': '4600' };
    await Promise.all(ends.map(({ engine }) => engine.reconfigure()));
    await until('packets pass again', 12_000, async () => (await ping(a.gateway, b.gateway.address)).received === 3);
  });
});
