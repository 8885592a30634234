// From nothing to settled, and the restart on a settled cluster.
import type { Part } from '../bench.ts';
import { heapAfterGc } from '../measure/heap.ts';
import { result } from '../measure/result.ts';
import { millisecondsOf, roundsOf } from '../measure/timing.ts';
import { createFleet, startProgram } from './fleet.ts';

const SIZES = {
  full: { size: { proxies: 20, clusters: 1000 }, rounds: 3 },
  tiny: { size: { proxies: 2, clusters: 10 }, rounds: 1 },
};

export const cold: Part = {
  name: 'cold',
  summary: 'a thousand virtual clusters from nothing, and a restart on them',
  async measure(scale) {
    const { size, rounds } = SIZES[scale];
    const measured = await roundsOf(rounds, async () => {
      const fleet = await createFleet(size);
      const first = startProgram(fleet);
      const settleMs = await millisecondsOf(() => first.rest());
      const created = first.transport.writes.length;
      await first.stop();
      const before = heapAfterGc();
      const second = startProgram(fleet);
      const restartMs = await millisecondsOf(() => second.rest());
      const fetched = second.transport.requests.filter((line) => /^GET .*\/secrets\/unused-/.test(line)).length;
      const heap = heapAfterGc() - before;
      const writes = second.transport.writes.length;
      await second.stop();
      await fleet.cluster.close();
      return { settleMs, created, restartMs, writes, fetched, heap };
    });
    const of = (pick: (round: (typeof measured)[number]) => number) => measured.map(pick);
    return [
      result({
        name: `cold: ${size.clusters} virtual clusters settled`,
        unit: 's',
        rounds: of(({ settleMs }) => settleMs / 1000),
        ...(scale === 'full' ? { below: 30 } : {}),
      }),
      result({ name: 'cold: its API writes', unit: 'writes', rounds: of(({ created }) => created) }),
      result({
        name: 'restart: until everything is evaluated',
        unit: 's',
        rounds: of(({ restartMs }) => restartMs / 1000),
      }),
      result({ name: 'restart: API writes', unit: 'writes', rounds: of(({ writes }) => writes), exactly: 0 }),
      result({
        name: 'secrets that nothing refers to whose data was fetched',
        unit: 'secrets',
        rounds: of(({ fetched }) => fetched),
        exactly: 0,
        note: 'as many of them are there as virtual clusters',
      }),
      result({ name: 'heap of the settled operator', unit: 'MB', rounds: of(({ heap }) => heap / 1e6) }),
    ];
  },
};
