// Measures the cost of freezing: the operator of the peer measurement twice, with values that readers share frozen and open. Both run at the same
// time against the same server, and edits go to one and to the other in turns.
import { inTempFolder } from '../apiserver/temp-folder.ts';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';
import { FULL, measureOn, startEmbedded, TINY } from './peer/peer.ts';
import { capstanSide } from './peer/sides.ts';

export const guard: Part = {
  name: 'guard',
  summary: 'an edit with values that readers share frozen, beside one with open values',
  measure: (scale) =>
    inTempFolder(async (folder) => {
      const server = await startEmbedded(folder);
      try {
        const size = scale === 'tiny' ? TINY : { ...FULL, pages: 2000 };
        const { rounds, resident } = await measureOn(server, size, [capstanSide(), capstanSide(0, true)]);
        const of = (side: number) => rounds.flatMap((round) => round[side]?.processor ?? []);
        return [
          result({
            name: 'guard: processor time of an edit',
            unit: 'ms',
            rounds: of(0),
            peer: { name: 'open values', rounds: of(1) },
            ratioAtMost: 1.03,
            note: 'a change of a shared value is an error at the first run',
          }),
          result({
            name: 'guard: resident memory after the edits',
            unit: 'MB',
            rounds: [resident[0]?.resident ?? 0],
            peer: { name: 'open values', rounds: [resident[1]?.resident ?? 0] },
          }),
        ];
      } finally {
        await server.stop();
      }
    }),
};
