// Three clusters with three drivers at once, on real cables.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLogger, systemClock } from '@capstan/kube';
import { createDrivers } from '../../src/drivers/create-drivers.ts';
import {
  type CableEngine,
  createCableEngine,
  type DriverStart,
  type WantedCable,
} from '../../src/gateway/cable-engine.ts';
import { startHealthCheck } from '../../src/gateway/health.ts';
import type { DriverName } from '../../src/policy/driver-names.ts';
import { cableOf, ping, pingOutage, testKeys } from './traffic.ts';
import { createUnderlay, skip, type TestGateway, type Underlay } from './underlay.ts';

const NAMES: readonly DriverName[] = ['vxlan', 'wireguard', 'ipsec', 'vxlan+ipsec'];

interface Running {
  readonly gateway: TestGateway;
  readonly engine: CableEngine;
  starts: ReadonlyMap<DriverName, DriverStart>;
  readonly stop: () => Promise<void>;
}

describe('a gateway', { skip }, () => {
  let underlay: Underlay;
  const running = new Map<string, Running>();
  const of = (id: string) => {
    const found = running.get(id);
    assert.ok(found);
    return found;
  };

  const run = async (gateway: TestGateway): Promise<Running> => {
    const host = gateway.host();
    const drivers = createDrivers({
      names: NAMES,
      host,
      local: gateway.local,
      clock: systemClock,
      keys: testKeys(Buffer.from('thirty-two bytes of test secret!')),
      wireguardDevice: gateway.wireguardDevice,
    });
    const engine = createCableEngine({
      host,
      drivers,
      sources: gateway.local,
      clock: systemClock,
      logger: silentLogger,
      // Shorter than in a gateway. On a busy machine one end switches up to a second after the other.
      drainMs: 2000,
    });
    const starts = await engine.start();
    const life = new AbortController();
    const watching = engine.watch(life.signal, () => {});
    const stop = async () => {
      life.abort();
      await watching;
    };
    return { gateway, engine, starts, stop };
  };

  const wanted = (from: string, to: string, driver: DriverName, options: Record<string, string> = {}): WantedCable => {
    const start = of(to).starts.get(driver);
    const config = start !== undefined && 'config' in start ? start.config : {};
    return { driver, policy: 'test', cable: { ...cableOf(of(from).gateway, of(to).gateway, config), options } };
  };
  const change = (from: string, to: string, driver: DriverName, options?: Record<string, string>) => {
    const each = wanted(from, to, driver, options);
    return of(from).engine.apply(new Map([[each.cable.name, each]]));
  };
  const connect = (one: string, other: string, driver: DriverName, options?: Record<string, string>) =>
    Promise.all([change(one, other, driver, options), change(other, one, driver, options)]);
  const address = (id: string) => of(id).gateway.address;
  const answered = { sent: 3, received: 3 };
  const status = (from: string, to: string) =>
    [...of(from).engine.reports().values()].find(({ usingIP }) => usingIP === of(to).gateway.local.privateIP);

  before(async () => {
    underlay = createUnderlay(['a', 'b', 'c']);
    for (const gateway of underlay.gateways) running.set(gateway.id, await run(gateway));
  });
  after(async () => {
    for (const { engine, stop } of running.values()) {
      await stop();
      await engine.withdraw().catch(() => {});
    }
    underlay?.close();
  });

  test('connects each pair by its own driver, all at once', async () => {
    await Promise.all([connect('a', 'b', 'ipsec'), connect('a', 'c', 'vxlan'), connect('b', 'c', 'wireguard')]);
    for (const [from, to] of ['ab', 'ba', 'ac', 'ca', 'bc', 'cb'].map((pair) => [pair[0] ?? '', pair[1] ?? '']))
      assert.deepEqual(await ping(of(from ?? '').gateway, address(to ?? '')), answered, `${from} to ${to}`);
    assert.deepEqual([status('a', 'b')?.driver, status('a', 'b')?.status], ['ipsec', 'connected']);
  });

  // From vxlan to a driver that encrypts, packets are rejected meanwhile: see switch.test.ts.
  for (const driver of ['wireguard', 'vxlan+ipsec', 'ipsec', 'vxlan'] as const) {
    test(`moves one pair to ${driver} with an outage under 60 ms, and no loss on the other two`, async () => {
      const others = ['c'].flatMap((to) => [
        ping(of('a').gateway, address(to), { count: 100, intervalMs: 20 }),
        ping(of('b').gateway, address(to), { count: 100, intervalMs: 20 }),
      ]);
      const switched = pingOutage(of('a').gateway, address('b'), { count: 100, intervalMs: 20 });
      await connect('a', 'b', driver);
      for (const each of await Promise.all(others)) assert.deepEqual(each, { sent: 100, received: 100 });
      const { received, outageMs } = await switched;
      // Two pings in a row at most.
      assert.ok(received >= 98, `${received} of 100 answers`);
      assert.ok(outageMs < 60, `no answer for ${outageMs} ms`);
      assert.equal(status('a', 'b')?.driver, driver);
    });
  }

  test('moves one pair from vxlan to ipsec without a loss on the other two', async () => {
    const others = ['a', 'b'].map((from) => ping(of(from).gateway, address('c'), { count: 100, intervalMs: 20 }));
    await connect('a', 'b', 'ipsec');
    for (const each of await Promise.all(others)) assert.deepEqual(each, { sent: 100, received: 100 });
    assert.deepEqual(await ping(of('a').gateway, address('b')), answered);
  });

  test('gives a pair with options of its own a link of its own', async () => {
    await connect('a', 'c', 'vxlan', { vxlanID: '77' });
    assert.deepEqual(await ping(of('a').gateway, address('c')), answered);
    const links = await of('a').gateway.host().query('ip', '-d', 'link', 'show', 'type', 'vxlan');
    assert.ok(links.some(({ linkinfo }) => JSON.stringify(linkinfo).includes('"id":77')));
  });

  test('measures the latency of a cable, and reports when packets stop', async () => {
    const { gateway } = of('a');
    let seen: () => void = () => {};
    const next = () =>
      new Promise<void>((resolve) => {
        seen = resolve;
      });
    const options = { host: gateway.host(), sourceIP: gateway.local.sourceIP, intervalSeconds: 0.1, maxPacketLoss: 3 };
    const first = next();
    const health = startHealthCheck({ ...options, address: address('c'), changed: () => seen() });
    await first;
    assert.equal(health.current().status, 'ok');
    const { latency } = health.current();
    assert.ok(latency && latency.min > 0 && latency.max >= latency.average);
    const failed = next();
    const there = wanted('c', 'a', 'none');
    await of('c').engine.apply(new Map([[there.cable.name, there]]));
    await failed;
    assert.match(health.current().message ?? '', /Failed to successfully ping the remote endpoint IP "10\.13\.0\.1"/);
    health.stop();
    await connect('a', 'c', 'vxlan');
  });

  test('brings a cable back within 5 s when charon is killed', async () => {
    const pid = Number(readFileSync(join(of('b').gateway.runDir, 'charon.pid'), 'utf8').split(' ')[0]);
    process.kill(pid, 'SIGKILL');
    await answersWithin(5000, () => ping(of('a').gateway, address('b'), { count: 1 }));
  });

  test('brings a cable back within 5 s when wireguard-go is killed', async () => {
    const { namespace, wireguardDevice } = of('c').gateway;
    const { stdout } = await of('c').gateway.host().run(['ip', 'netns', 'pids', namespace]);
    const pids = stdout.split(/\s+/).filter(Boolean);
    const pid = pids.find((each) => readFileSync(`/proc/${each}/cmdline`, 'utf8').includes(wireguardDevice));
    assert.ok(pid);
    process.kill(Number(pid), 'SIGKILL');
    await answersWithin(5000, () => ping(of('b').gateway, address('c'), { count: 1 }));
  });

  test('adopts its cables after a restart without a loss, and removes what is no longer wanted', async () => {
    const cables = [
      ping(of('a').gateway, address('b'), { count: 100, intervalMs: 20 }),
      ping(of('c').gateway, address('b'), { count: 100, intervalMs: 20 }),
    ];
    await of('b').stop();
    const next = await run(of('b').gateway);
    running.set('b', next);
    const both = [wanted('b', 'a', 'ipsec'), wanted('b', 'c', 'wireguard')];
    await next.engine.adopt(new Map(both.map((each) => [each.cable.name, each])));
    for (const each of await Promise.all(cables)) assert.deepEqual(each, { sent: 100, received: 100 });
    await next.stop();
    const last = await run(of('b').gateway);
    running.set('b', last);
    const only = wanted('b', 'c', 'wireguard');
    await last.engine.adopt(new Map([[only.cable.name, only]]));
    assert.deepEqual(await ping(of('c').gateway, address('b')), answered);
    assert.deepEqual(await ping(of('a').gateway, address('b')), { sent: 3, received: 0 });
  });
});

async function answersWithin(ms: number, attempt: () => Promise<{ received: number }>): Promise<void> {
  const begin = performance.now();
  // The old cable may answer once more before its end is noticed: two answers in a row count.
  for (let inARow = 0; inARow < 2; ) {
    inARow = (await attempt()).received > 0 ? inARow + 1 : 0;
    assert.ok(performance.now() - begin < ms + 1000, `no answer in ${ms} ms`);
  }
}
