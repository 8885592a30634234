// A pair that is connected without encryption, and must be encrypted from now on: its networks are closed first. The underlay is
// captured while packets of both families are sent all the time.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readRejected, readRoutes } from '../../src/drivers/routes.ts';
import { userspaceDevice } from '../../src/drivers/wireguard-device.ts';
import type { DriverName } from '../../src/policy/driver-names.ts';
import { until } from '../until.ts';
import { type Capture, routeEverything, startCapture, startTraffic } from './capture.ts';
import { ENCRYPTED_DRIVERS } from './faults.ts';
import { openRotatingPair, type RotatingEnd, type RotatingPair } from './rotation.ts';
import { ping } from './traffic.ts';
import { skip } from './underlay.ts';

describe('a pair of gateways without encryption', { skip }, () => {
  let pair: RotatingPair;
  let capture: Capture;
  before(async () => {
    pair = await openRotatingPair([Buffer.from('a key that only this test knows and uses')]);
    routeEverything(pair.underlay);
    capture = await startCapture(pair.underlay);
  });
  after(async () => {
    await capture?.stop();
    await pair?.close();
  });

  const apply = (end: RotatingEnd, driver: DriverName) => {
    const wanted = pair.wanted(end, driver);
    return end.engine.apply(new Map([[wanted.cable.name, wanted]]));
  };
  const send = () => {
    const [a, b] = pair.ends;
    const traffic = [b.gateway.address, b.gateway.address6].map((address) => startTraffic(a.gateway, address));
    return { received: () => traffic.every((each) => each.received() > 0), traffic };
  };
  /** All networks of the other end are rejected, and no route leads there. */
  const closed = (end: RotatingEnd) => {
    const subnets = pair.ends.find((each) => each !== end)?.gateway.local.subnets ?? [];
    return until('the networks are closed', 10_000, async () => {
      const host = end.gateway.host();
      const [rejected, routes] = [await readRejected(host), await readRoutes(host)];
      return subnets.every((subnet) => rejected.has(subnet) && !routes.has(subnet));
    });
  };
  /** The capture may be behind: it has caught up when it reports no more packets in clear for a while. */
  const settle = async () => {
    let [seen, quiet] = [-1, 0];
    await until('no more packets in clear are seen', 15_000, async () => {
      const { clear } = capture.count();
      quiet = clear === seen ? quiet + 1 : 0;
      seen = clear;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return quiet >= 5;
    });
  };
  const passes = () =>
    until('packets pass', 15_000, async () => {
      const [a, b] = pair.ends;
      for (const address of [b.gateway.address, b.gateway.address6])
        if ((await ping(a.gateway, address)).received < 3) return false;
      return true;
    });

  for (const driver of ENCRYPTED_DRIVERS)
    test(`sends nothing in clear from the moment in which one end asks for ${driver}`, async () => {
      const [a, b] = pair.ends;
      await pair.useAlone('vxlan');
      const sending = send();
      try {
        await until('packets pass in clear', 10_000, () => Promise.resolve(sending.received()));
        const earlier = capture.count().clear;
        await until('the capture sees them', 10_000, () => Promise.resolve(capture.count().clear > earlier));
        // The other end does not know yet: it would take the packets.
        const bringing = apply(a, driver);
        await closed(a);
        await settle();
        const before = capture.count();
        // The absence of packets has no event to wait for: the pair is observed for a second.
        await new Promise((resolve) => setTimeout(resolve, 1000));
        assert.equal(capture.count().clear - before.clear, 0, 'while the other end does not know');
        await Promise.all([bringing, apply(b, driver)]);
        await passes();
        const { packets, clear } = capture.count();
        assert.ok(packets > before.packets, 'packets pass encrypted');
        assert.equal(clear - before.clear, 0, 'until the cable is up, and through it');
      } finally {
        for (const each of sending.traffic) await each.stop();
      }
    });

  test('is closed by a gateway that starts after its policy changed, before its tunnel is up', async () => {
    await pair.useAlone('vxlan');
    const sending = send();
    try {
      await until('packets pass in clear', 10_000, () => Promise.resolve(sending.received()));
      const a = await pair.restart(pair.ends[0]);
      const wanted = pair.wanted(a, 'ipsec');
      const adopting = a.engine.adopt(new Map([[wanted.cable.name, wanted]]));
      await closed(a);
      await settle();
      const before = capture.count().clear;
      await new Promise((resolve) => setTimeout(resolve, 500));
      assert.equal(capture.count().clear - before, 0);
      await pair.use('ipsec');
      await adopting;
      await passes();
      assert.equal(capture.count().clear - before, 0);
    } finally {
      for (const each of sending.traffic) await each.stop();
    }
  });

  test('has its networks closed for a moment when its cable goes, until it is known whether the pair is encrypted', async () => {
    const [a, b] = pair.ends;
    await pair.useAlone('vxlan');
    const sending = send();
    try {
      await until('packets pass in clear', 10_000, () => Promise.resolve(sending.received()));
      const { cable } = pair.wanted(a, 'vxlan');
      await a.engine.apply(new Map([[cable.name, undefined]]));
      const rejected = await readRejected(a.gateway.host());
      assert.deepEqual([...rejected].toSorted(), b.gateway.local.subnets.toSorted());
      await until('they are open', 10_000, async () => (await readRejected(a.gateway.host())).size === 0);
    } finally {
      for (const each of sending.traffic) await each.stop();
    }
  });

  test('is repaired at once each time when it breaks, also soon after it was repaired', async () => {
    const [a, b] = pair.ends;
    await pair.use('wireguard');
    for (let round = 0; round < 3; round++) {
      await passes();
      const device = userspaceDevice(b.gateway.wireguardDevice);
      const { peers } = await device.read();
      await device.configure({ peers: [...peers.keys()].map((publicKey) => ({ publicKey, remove: true as const })) });
      const took = await until(
        'the cable is repaired',
        15_000,
        async () => (await ping(a.gateway, b.gateway.address)).received === 3,
      );
      assert.ok(took < 10_000, `${Math.round(took)} ms`);
    }
  });
});
