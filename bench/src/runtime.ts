import type { Bench } from './bench.ts';
import { checks } from './runtime/checks.ts';
import { deafWatch } from './runtime/deaf-watch.ts';
import { fill } from './runtime/fill.ts';
import { guard } from './runtime/guard.ts';
import { hotKeys } from './runtime/hot-keys.ts';
import { ingress } from './runtime/ingress.ts';
import { lists } from './runtime/lists.ts';
import { memory } from './runtime/memory.ts';
import { noChange } from './runtime/no-change.ts';
import { pairs } from './runtime/pairs.ts';
import { ingressPath } from './runtime/path/ingress-path.ts';
import { peer5000, peer20000, peerReal } from './runtime/peer/peer.ts';
import { planned } from './runtime/plan.ts';
import { sharedCaches } from './runtime/shared/shared-caches.ts';
import { wakeUp } from './runtime/wake-up.ts';

/** The shared runtime; docs/benchmarks.md explains each figure. */
export const runtime: Bench = {
  name: 'runtime',
  summary: 'informers, the incremental engine and reconciles that change nothing',
  parts: [
    wakeUp,
    ingress,
    ingressPath,
    lists,
    pairs,
    noChange,
    planned,
    memory,
    sharedCaches,
    fill,
    hotKeys,
    deafWatch,
    checks,
    guard,
  ],
  peerParts: [peer5000, peer20000, peerReal],
};
