import type { Bench } from './bench.ts';
import { faults } from './cables/faults.ts';
import { restarts } from './cables/restarts.ts';
import { rollouts } from './cables/rollouts.ts';
import { rotation } from './cables/rotation.ts';
import { takeover, takeoverOfReal } from './cables/takeover.ts';

/** Real packets through real cables, while something happens to a gateway. */
export const cables: Bench = {
  name: 'cables',
  summary: 'packets in clear and lost packets: faults, restarts, takeovers and new keys, between network namespaces',
  parts: [faults, restarts, rollouts, takeover, takeoverOfReal, rotation],
};
