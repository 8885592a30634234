// The gateway of a cluster is replaced in order, as by a rollout of its DaemonSet: SIGTERM, and its successor on the same node.
import {
  connectionsOf,
  createClusterSet,
  createUnderlay,
  startTraffic,
  type TestGateway,
  until,
} from '@capstan/submariner/real-cables';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';
import { lacksCables } from './lacks-cables.ts';

const SIZES = {
  full: { drivers: ['wireguard', 'ipsec', 'vxlan'], rounds: 3, packets: 2000 },
  tiny: { drivers: ['wireguard'], rounds: 1, packets: 200 },
};
const INTERVAL_MS = 5;
const LIMIT_MS = 60_000;

export const restarts: Part = {
  name: 'restarts',
  summary: 'packets lost while a gateway is replaced in order',
  lacks: lacksCables,
  async measure(scale) {
    const { drivers, rounds, packets } = SIZES[scale];
    const results: Result[] = [];
    for (const driver of drivers) {
      const measured = await restart(driver, rounds, packets);
      results.push(
        result({
          name: `${driver}: packets lost by an orderly restart`,
          unit: `of ${packets}`,
          rounds: measured.map(({ lost }) => lost),
          ...(scale === 'full' && { atMost: 5, everyRound: true }),
          note: `a packet each ${INTERVAL_MS} ms; at least ${Math.min(...measured.map(({ sent }) => sent))} were sent in a round`,
        }),
        result({
          name: `${driver}: from SIGTERM until the successor reports its cable`,
          unit: 'ms',
          rounds: measured.map(({ ms }) => ms),
        }),
      );
    }
    return results;
  },
};

interface Restart {
  readonly sent: number;
  readonly lost: number;
  readonly ms: number;
}

async function restart(driver: string, rounds: number, packets: number): Promise<Restart[]> {
  const underlay = createUnderlay(['east', 'west']);
  const set = await createClusterSet({ east: [], west: [] }, { driver }).catch((error: unknown) => {
    underlay.close();
    throw error;
  });
  try {
    const [east, west] = underlay.gateways as [TestGateway, TestGateway];
    let gateway = await set.gateway('east', east);
    await set.gateway('west', west);
    const connected = (member: string) =>
      until(
        `${member} is connected by ${driver}`,
        LIMIT_MS,
        async () =>
          (await connectionsOf(set, member)).map((each) => `${each.usingCableDriver} ${each.status}`).join() ===
          `${driver} connected`,
        () => gateway.log().slice(-2000),
      );
    const measured: Restart[] = [];
    for (let round = 0; round < rounds; round++) {
      await connected('east');
      await connected('west');
      const traffic = startTraffic(west, east.address, INTERVAL_MS);
      const answered = (count: number) =>
        until(`${count} packets are answered`, LIMIT_MS, () => Promise.resolve(traffic.received() >= count));
      try {
        await answered(packets / 10);
        const begin = performance.now();
        await gateway.kill('SIGTERM');
        gateway = await set.gateway('east', east);
        await connected('east');
        const ms = performance.now() - begin;
        await answered(packets - 5);
        const { sent, lost } = await traffic.stop();
        measured.push({ sent, lost, ms });
      } finally {
        await traffic.stop();
      }
    }
    return measured;
  } finally {
    await set.close();
    underlay.close();
  }
}
