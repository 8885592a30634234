// The stopwatch for work that two processes do together: ourselves as the client, and the server. It subtracts the time in which neither of
// them progressed because the system had given the cores to others. While we are at work, only our own waits count: a wait of the server
// may delay no other request meanwhile. While we are idle, the wait is at least the server's waits, and at least our own less the time that
// the server ran; the larger one is subtracted.
import { waitedForCore } from '../measure/stopwatch.ts';
import { mainThreadOf } from './process-costs.ts';

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
  let theirs = mainThreadOf(server);
  let isAtWork = false;
  const count = () => {
    const [oursNow, theirsNow] = [waitedForCore(), mainThreadOf(server)];
    const own = oursNow - ours;
    lost += isAtWork ? own : Math.max(theirsNow.waited - theirs.waited, own - (theirsNow.ran - theirs.ran));
    [ours, theirs] = [oursNow, theirsNow];
  };
  return () => {
    const at = performance.now();
    if (!isAtWork) {
      count();
      isAtWork = true;
      setImmediate(() => {
        count();
        isAtWork = false;
      });
    }
    return { at, lost };
  };
}
