// The DaemonSet of gateways replaces its pod on the only gateway node of a cluster, while packets of another cluster pass: on `capstan
// up --cables real`, whose nodes run pods as processes.
import { openLocalSet, startTraffic, until } from '@capstan/submariner/real-cables';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { lacksCables } from './lacks-cables.ts';

const SIZES = {
  full: { drivers: ['wireguard', 'ipsec'], rounds: 3, packets: 2000 },
  tiny: { drivers: ['ipsec'], rounds: 1, packets: 200 },
};
const INTERVAL_MS = 5;
const LIMIT_MS = 120_000;

export const rollouts: Part = {
  name: 'rollouts',
  summary: 'packets lost while a DaemonSet replaces the gateway of a node',
  lacks: lacksCables,
  async measure(scale) {
    const { drivers, rounds, packets } = SIZES[scale];
    const results = [];
    for (const driver of drivers) {
      const measured = await rollout(driver, rounds, packets);
      results.push(
        result({
          name: `${driver}: packets lost by a rollout of the DaemonSet`,
          unit: 'packets',
          rounds: measured.map(({ lost }) => lost),
          ...(scale === 'full' && { atMost: 5, everyRound: true }),
          note: `a packet each ${INTERVAL_MS} ms; ${measured.map(({ sent }) => sent).join(', ')} were sent`,
        }),
      );
    }
    return results;
  },
};

async function rollout(driver: string, rounds: number, packets: number): Promise<{ sent: number; lost: number }[]> {
  const set = await openLocalSet(driver);
  try {
    const measured: { sent: number; lost: number }[] = [];
    for (let round = 0; round < rounds; round++) {
      const traffic = startTraffic(set.sender('west'), set.address('east'), INTERVAL_MS);
      const answered = (count: number) =>
        until(`${count} packets are answered`, LIMIT_MS, () => Promise.resolve(traffic.received() >= count));
      try {
        await answered(packets / 10);
        await set.roll('east');
        // So many after it too: the end of an outage is seen.
        await answered(Math.max(packets - 5, traffic.received() + packets / 10));
      } finally {
        await traffic.stop();
      }
      const { sent, lost } = await traffic.stop();
      measured.push({ sent, lost });
    }
    return measured;
  } finally {
    await set.close();
  }
}
