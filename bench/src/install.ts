import type { Bench } from './bench.ts';
import { cluster } from './install/cluster.ts';
import { laptop } from './install/laptop.ts';
import { memory } from './install/memory.ts';
import { secondStart } from './install/second-start.ts';
import { startUp } from './install/start-up.ts';
import { status } from './install/status.ts';

/** From the built package to something that works: on a laptop, and in a real cluster. */
export const install: Bench = {
  name: 'install',
  summary:
    'start-up of the built command line, an embedded cluster from the tarball, memory of the operators, and an installation on a real control plane',
  parts: [startUp, status, secondStart, laptop, memory],
  peerParts: [cluster],
};
