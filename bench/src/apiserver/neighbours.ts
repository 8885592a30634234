// The stopwatch for work that two processes do together: ourselves as the client, and the server. What is taken off the
// clock on the wall is time in which the work could not go on because the system had given the cores to others. While we
// have nothing to do, everything depends on the server, or on our being let in again: then the larger of the two waits
// counts. While we are at work, only our own waits do, because the server's may be in vain. Both are counted once, so the
// rest is never less than what the two of them took.
import { waitedForCore } from '../measure/stopwatch.ts';
import { waitedForCoreBy } from './process-costs.ts';

export interface Moment {
  /** By the clock on the wall. */
  readonly at: number;
  /** Milliseconds that neighbours have cost so far. */
  readonly lost: number;
}

/** A function that takes the moment; to be called first in whatever the event loop calls. The counters are read once a turn. */
export function createNeighbourWatch(server: number): () => Moment {
  let lost = 0;
  let ours = waitedForCore();
  let theirs = waitedForCoreBy(server);
  let isAtWork = false;
  const count = (weigh: (ours: number, theirs: number) => number) => {
    const [oursNow, theirsNow] = [waitedForCore(), waitedForCoreBy(server)];
    lost += weigh(oursNow - ours, theirsNow - theirs);
    [ours, theirs] = [oursNow, theirsNow];
  };
  return () => {
    const at = performance.now();
    if (!isAtWork) {
      isAtWork = true;
      count(Math.max);
      setImmediate(() => {
        isAtWork = false;
        count((own) => own);
      });
    }
    return { at, lost };
  };
}
