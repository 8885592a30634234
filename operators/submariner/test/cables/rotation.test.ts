// Keys and options that change while cables are up. Published data of a gateway reaches the other one as it does over a broker.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openVici } from '../../src/drivers/vici.ts';
import { userspaceDevice } from '../../src/drivers/wireguard-device.ts';
import { presharedKeyOf } from '../../src/drivers/wireguard-keys.ts';
import { until } from '../until.ts';
import { openRotatingPair, type RotatingEnd, type RotatingPair } from './rotation.ts';
import { ping, pingOutage } from './traffic.ts';
import { skip } from './underlay.ts';

const [OLD, NEW] = [Buffer.from('the old key, thirty-two bytes.. '), Buffer.from('another key of thirty-two bytes.')];

describe('two gateways', { skip }, () => {
  let pair: RotatingPair;

  const associations = async ({ gateway }: RotatingEnd) => {
    const vici = await openVici(join(gateway.runDir, 'charon.vici'));
    try {
      return await vici.stream('list-sas', 'list-sa');
    } finally {
      vici.close();
    }
  };
  before(async () => {
    pair = await openRotatingPair([OLD]);
  });
  after(() => pair?.close());

  test('change the pre-shared key of WireGuard one after the other without a loss', async () => {
    const [a, b] = pair.ends;
    const running = ping(a.gateway, b.gateway.address, { count: 100, intervalMs: 20 });
    const used = async () =>
      Promise.all(
        pair.ends.map(async ({ gateway }) => {
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
    const [a, b] = pair.ends;
    const before = a.published('wireguard')['publicKey'];
    const running = pingOutage(a.gateway, b.gateway.address, { count: 250, intervalMs: 20 });
    a.options = { keyLifetime: '1s' };
    await until('the key is replaced', 8000, () => Promise.resolve(a.published('wireguard')['publicKey'] !== before));
    a.options = {};
    const { outageMs, received } = await running;
    assert.ok(outageMs < 400, `no answer for ${outageMs} ms (${received} of 250)`);
    const { peers } = await userspaceDevice(b.gateway.wireguardDevice).read();
    assert.deepEqual([...peers.keys()], [a.published('wireguard')['publicKey']], 'the old key is gone');
  });

  test('change the pre-shared key of IPsec without a loss, and open new connections with the new one alone', async () => {
    const [a, b] = pair.ends;
    for (const end of pair.ends) {
      end.keys = [OLD];
      await end.engine.reconfigure();
    }
    await pair.use('ipsec');
    // Packets on the old cable have arrived by now.
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
    await pair.use('vxlan');
    await until('the old cable is gone', 6000, async () => (await associations(a)).length === 0);
    await pair.use('ipsec');
    assert.deepEqual(await ping(a.gateway, b.gateway.address), { sent: 3, received: 3 });
  });

  test('take another port for IPsec: charon is restarted, and the cable comes back', async () => {
    const [a, b] = pair.ends;
    for (const end of pair.ends) end.options = { 'ipsec.port': '4600' };
    await Promise.all(pair.ends.map(({ engine }) => engine.reconfigure()));
    await until('packets pass again', 12_000, async () => (await ping(a.gateway, b.gateway.address)).received === 3);
  });
});

describe('a key of WireGuard that comes into use before the other end looked for it', { skip }, () => {
  test('stays when the old cable ends', async () => {
    // The other end looks once a second: the key is announced, used and the old way over within that time.
    const pair = await openRotatingPair([OLD], { announceMs: 150, drainMs: 100 });
    try {
      const [a, b] = pair.ends;
      const key = () => a.published('wireguard')['publicKey'] ?? '';
      for (let round = 0; round < 3; round++) {
        const before = key();
        a.options = { keyLifetime: '1s' };
        await until('the key is replaced', 8000, () => Promise.resolve(key() !== before));
        a.options = {};
        const peers = async () => [...(await userspaceDevice(b.gateway.wireguardDevice).read()).peers.keys()];
        await until('the other end has the new key alone', 8000, async () => (await peers()).join() === key());
        // Longer than the old way stays, and than the cables are looked at.
        const { outageMs, received } = await pingOutage(a.gateway, b.gateway.address, { count: 100, intervalMs: 20 });
        assert.ok(outageMs < 400, `no answer for ${outageMs} ms (${received} of 100)`);
        assert.deepEqual(await peers(), [key()]);
      }
    } finally {
      await pair.close();
    }
  });
});
