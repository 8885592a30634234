// Keys of cables change while packets pass; beside it, a switch of the driver, which may lose as much.
import { randomBytes } from 'node:crypto';
import { openRotatingPair, type RotatingPair, startTraffic, until } from '@capstan/submariner/real-cables';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { lacksCables } from './lacks-cables.ts';

const SIZES = { full: { rounds: 3, packets: 2000 }, tiny: { rounds: 1, packets: 200 } };
const INTERVAL_MS = 5;
const LIMIT_MS = 60_000;
/** The most that a switch of the driver loses of 2,000 packets. */
const SWITCH_LOSES = 4;

export const rotation: Part = {
  name: 'rotation',
  summary: 'packets lost by new pre-shared keys, new keys of WireGuard and a switch of the driver',
  lacks: lacksCables,
  async measure(scale) {
    const { rounds, packets } = SIZES[scale];
    const lost = {
      switched: [] as number[],
      wireguardPsk: [] as number[],
      key: [] as number[],
      ipsecPsk: [] as number[],
    };
    const keys = Array.from({ length: rounds * 2 + 1 }, () => randomBytes(32));
    const pair = await openRotatingPair(keys.slice(0, 1));
    try {
      const loses = (work: () => Promise<void>) => underTraffic(pair, packets, work);
      let used = 0;
      const rotate = async () => {
        const [before, next] = [keys[used], keys[used + 1]];
        if (before === undefined || next === undefined) throw new TypeError('there is no further key');
        used++;
        for (const end of pair.ends) {
          end.keys = [next, before];
          await end.engine.reconfigure();
        }
      };
      for (let round = 0; round < rounds; round++) {
        lost.wireguardPsk.push(await loses(rotate));
        lost.key.push(await loses(() => replaceKey(pair)));
        lost.switched.push(await loses(() => pair.use('ipsec')));
        lost.ipsecPsk.push(await loses(rotate));
        lost.switched.push(await loses(() => pair.use('wireguard')));
      }
    } finally {
      await pair.close();
    }
    const target = scale === 'full' ? { atMost: SWITCH_LOSES, everyRound: true } : {};
    const unit = `of ${packets}`;
    return [
      result({ name: 'packets lost by a switch between wireguard and ipsec', unit, rounds: lost.switched, ...target }),
      result({ name: 'packets lost by a new pre-shared key of wireguard', unit, rounds: lost.wireguardPsk, ...target }),
      result({ name: 'packets lost by a new pre-shared key of ipsec', unit, rounds: lost.ipsecPsk, ...target }),
      result({ name: 'packets lost by a new key of wireguard', unit, rounds: lost.key, ...target }),
    ];
  },
};

/** The packets that are lost while something is done. */
async function underTraffic({ ends }: RotatingPair, packets: number, work: () => Promise<void>): Promise<number> {
  const [a, b] = ends;
  const traffic = startTraffic(a.gateway, b.gateway.address, INTERVAL_MS);
  const answered = (count: number) =>
    until(`${count} packets are answered`, LIMIT_MS, () => Promise.resolve(traffic.received() >= count));
  try {
    await answered(packets / 10);
    await work();
    // Wait for more packets than may be lost meanwhile, so that the end of an outage is seen.
    await answered(Math.max(packets - SWITCH_LOSES, traffic.received() + packets / 10));
  } finally {
    await traffic.stop();
  }
  return (await traffic.stop()).lost;
}

/** The key of one end comes to the end of its life. */
async function replaceKey({ ends: [end] }: RotatingPair): Promise<void> {
  const key = () => end.published('wireguard')['publicKey'];
  const before = key();
  end.options = { keyLifetime: '1s' };
  try {
    await until('the key is replaced', LIMIT_MS, () => Promise.resolve(key() !== before));
  } finally {
    end.options = {};
  }
}
