// The node of the active gateway goes, and the other gateway of its cluster takes over. Times are those without an answer to packets
// of another cluster.
import {
  openTakeoverStage,
  TAKEOVER_EVENTS,
  type TakeoverEvent,
  type TakeoverReport,
} from '@capstan/submariner/real-cables';
import { findBinaries } from '@capstan/testing';
import type { Part } from '../bench.ts';
import { type Result, result } from '../measure/result.ts';
import { lacksCables } from './lacks-cables.ts';

const SIZES = { full: { rounds: 3 }, tiny: { rounds: 1 } };

/** The Lease of gateways takes 4 s. A frozen or unreachable one may have renewed it just before. */
const LEASE_SECONDS = 4;
const BELOW_SECONDS: Record<TakeoverEvent, number> = {
  killed: 6,
  frozen: LEASE_SECONDS + 3,
  'cut off': LEASE_SECONDS + 3,
};

export const takeover = takeoverPart('takeover', false);

/** The same with a real control plane for the broker and the cluster whose gateway fails. */
export const takeoverOfReal = takeoverPart('real-takeover', true);

function takeoverPart(name: string, isReal: boolean): Part {
  const place = isReal ? ', on a real control plane' : '';
  const binaries = findBinaries();
  return {
    name,
    summary: `time and packets until another gateway has taken over${place}`,
    lacks: () => lacksCables() ?? (isReal && 'missing' in binaries ? binaries.missing : undefined),
    measure: (scale) => measure(scale, isReal),
  };
}

async function measure(scale: keyof typeof SIZES, isReal: boolean): Promise<Result[]> {
  const { rounds } = SIZES[scale];
  const where = isReal ? 'real control plane: ' : '';
  const stage = await openTakeoverStage({ driver: 'wireguard', isReal });
  try {
    const reports: TakeoverReport[] = [];
    for (let round = 0; round < rounds; round++)
      for (const event of TAKEOVER_EVENTS) reports.push(await stage.fail(event));
    const figures = TAKEOVER_EVENTS.flatMap((event) => {
      const own = reports.filter((each) => each.event === event);
      return [
        result({
          name: `${where}a node is ${event}: packets pass again after`,
          unit: 's',
          rounds: own.map(({ outageMs }) => outageMs / 1000),
          ...(scale === 'full' && { below: BELOW_SECONDS[event], everyRound: true }),
          note: `the Lease was taken after ${own.map(({ leaseMs }) => (leaseMs / 1000).toFixed(1)).join(', ')} s`,
        }),
        result({
          name: `${where}a node is ${event}: packets lost`,
          unit: 'packets',
          rounds: own.map(({ lost }) => lost),
          note: 'ping sends each 5 ms while answers come, and about each 11 ms while none do',
        }),
      ];
    });
    return [
      ...figures,
      result({
        name: `${where}moments in which two gateways were active`,
        unit: '',
        rounds: reports.map(({ conflicts }) => conflicts.length),
        exactly: 0,
        note:
          [...new Set(reports.flatMap(({ conflicts }) => conflicts))].join('; ') || 'by reports and by logged times',
      }),
      result({
        name: `${where}user packets in clear during takeovers`,
        unit: 'packets',
        rounds: reports.map(({ clear }) => clear),
        exactly: 0,
      }),
    ];
  } finally {
    await stage.close();
  }
}
