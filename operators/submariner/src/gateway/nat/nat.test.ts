import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { silentLogger } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import type { Cable } from '../../drivers/driver.ts';
import type { Datagrams } from './datagrams.ts';
import { createNatDiscovery } from './discovery.ts';
import { type DiscoveryMessage, decodeMessage, encodeMessage, type PeerAddress } from './message.ts';

const PORT = 4490;

/** A network in which some addresses lead to a gateway, and senders may get another address. */
function createNetwork() {
  const hosts = new Map<string, { take(data: Buffer, from: PeerAddress): void }>();
  /** Where packets to an address go; undefined: nowhere. */
  const ways = new Map<string, string | undefined>();
  const sources = new Map<string, string>();
  const open = (ip: string) => (take: (data: Buffer, from: PeerAddress) => void) => {
    hosts.set(ip, { take });
    const datagrams: Datagrams = {
      port: PORT,
      send(data, to) {
        const target = ways.has(to.ip) ? ways.get(to.ip) : to.ip;
        const from = { ip: sources.get(`${ip} ${to.ip}`) ?? ip, port: PORT };
        queueMicrotask(() => hosts.get(target ?? '')?.take(Buffer.from(data), from));
      },
      close: () => hosts.delete(ip),
    };
    return Promise.resolve(datagrams);
  };
  return { open, ways, sources, hosts };
}

async function stage() {
  const clock = createVirtualClock();
  const network = createNetwork();
  const gateway = (clusterID: string, privateIP: string) =>
    createNatDiscovery({
      local: { clusterID, cableName: `cable-${clusterID}`, privateIP },
      open: network.open(privateIP),
      clock,
      logger: silentLogger,
    });
  const east = await gateway('east', '10.0.0.1');
  const west = await gateway('west', '10.0.0.2');
  // Datagrams to the public address of west arrive at west, and answers come from that address.
  network.ways.set('203.0.113.2', '10.0.0.2');
  network.sources.set('10.0.0.2 10.0.0.1', '10.0.0.2');
  const cable: Cable = {
    name: 'cable-west',
    cluster: 'west',
    remoteIP: '203.0.113.2',
    remotePrivateIP: '10.0.0.2',
    remotePublicIP: '203.0.113.2',
    remoteDiscoveryPort: PORT,
    remoteSubnets: [],
    remoteConfig: {},
    options: {},
    usingNAT: true,
    role: 'either',
  };
  const end = () => {
    east.close();
    west.close();
  };
  return { clock, network, east, cable, end };
}

describe('NAT discovery', () => {
  test('prefers the private address, also when the public one answers first', async () => {
    const { clock, network, east, cable, end } = await stage();
    let located: unknown;
    void east.locate(cable).then((found) => {
      located = found;
    });
    await clock.advance(10);
    assert.deepEqual(located, { remoteIP: '10.0.0.2', usingNAT: false });
    network.ways.set('10.0.0.2', undefined);
    assert.deepEqual(await east.locate(cable), { remoteIP: '10.0.0.2', usingNAT: false }, 'asked once');
    end();
  });

  test('uses the public address where the private one does not answer within a second', async () => {
    const { clock, network, east, cable, end } = await stage();
    network.ways.set('10.0.0.2', undefined);
    let located: unknown;
    void east.locate(cable).then((found) => {
      located = found;
    });
    await clock.advance(900);
    assert.equal(located, undefined);
    await clock.advance(200);
    assert.deepEqual(located, { remoteIP: '203.0.113.2', usingNAT: true });
    end();
  });

  test('does not take an answer to the private address from another host', async () => {
    const { clock, network, east, cable, end } = await stage();
    network.sources.set('10.0.0.2 10.0.0.1', '10.9.9.9');
    network.ways.set('203.0.113.2', undefined);
    let located: unknown;
    void east.locate(cable).then((found) => {
      located = found;
    });
    await clock.advance(59_000);
    assert.equal(located, undefined);
    await clock.advance(2000);
    assert.deepEqual(located, { remoteIP: '203.0.113.2', usingNAT: true }, 'as the Endpoint says');
    end();
  });

  test('asks nothing where there is nothing to choose', async () => {
    const { east, cable, end } = await stage();
    const { remotePublicIP: _, ...plain } = cable;
    assert.deepEqual(await east.locate({ ...plain, remoteIP: '10.0.0.2', usingNAT: false }), {
      remoteIP: '10.0.0.2',
      usingNAT: false,
    });
    const { remoteDiscoveryPort: __, ...legacy } = cable;
    assert.deepEqual(await east.locate(legacy), { remoteIP: '203.0.113.2', usingNAT: true });
    end();
  });

  test('answers what is wrong with a request', async () => {
    const { network, end } = await stage();
    const answers: DiscoveryMessage[] = [];
    const datagrams = await network.open('10.0.0.9')((data) => {
      const message = decodeMessage(data);
      if (message !== undefined) answers.push(message);
    });
    const party = (clusterID: string, endpointID: string) => ({ clusterID, endpointID });
    const usual = {
      type: 'request' as const,
      number: 7n,
      sender: party('north', 'cable-north'),
      receiver: party('west', 'cable-west'),
      usingSource: { ip: '10.0.0.9', port: PORT },
      usingDestination: { ip: '10.0.0.2', port: PORT },
    };
    const requests: DiscoveryMessage[] = [
      usual,
      { ...usual, usingSource: { ip: '10.7.7.7', port: 1 } },
      { ...usual, receiver: party('south', 'cable-west') },
      { ...usual, receiver: party('west', 'another') },
      { ...usual, usingDestination: undefined },
    ];
    for (const request of requests) datagrams.send(encodeMessage(request), { ip: '10.0.0.2', port: PORT });
    datagrams.send(Buffer.from('not a message'), { ip: '10.0.0.2', port: PORT });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(
      answers.map((each) => each.type === 'response' && each.result),
      ['OK', 'NAT_DETECTED', 'UNKNOWN_DST_CLUSTER', 'UNKNOWN_DST_ENDPOINT', 'MALFORMED'],
    );
    end();
  });
});

test('messages are the original’s, byte by byte', () => {
  const message: DiscoveryMessage = {
    type: 'request',
    number: 300n,
    sender: { clusterID: 'a', endpointID: 'b' },
    receiver: { clusterID: 'c', endpointID: '' },
    usingSource: { ip: '1.2.3.4', port: 4490 },
    usingDestination: { ip: '', port: 0 },
  };
  const wanted = [
    ['0801', 'version 1'],
    ['1220', 'field 2, 32 bytes'],
    ['08ac02', 'request number 300'],
    ['1206', 'sender'],
    ['0a0161', 'cluster a'],
    ['120162', 'endpoint b'],
    ['1a03', 'receiver'],
    ['0a0163', 'cluster c'],
    ['220c', 'source'],
    ['0a07312e322e332e34', 'address'],
    ['108a23', 'port'],
    ['2a00', 'an empty destination'],
  ];
  assert.equal(encodeMessage(message).toString('hex'), wanted.map(([hex]) => hex).join(''));
  assert.deepEqual(decodeMessage(encodeMessage(message)), message);
  assert.equal(decodeMessage(Buffer.from('12ff', 'hex')), undefined);
});
