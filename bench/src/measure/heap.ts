import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of live JavaScript objects, after a full collection. */
export function heapAfterGc(): number {
  const collect = collector();
  // Weak references and finalizers take a second pass.
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** The same once nothing more is let go of: finished promises, streams and signals take some turns of the event loop. */
export async function restingHeap(): Promise<number> {
  let before = heapAfterGc();
  for (let quiet = 0; quiet < 3; ) {
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
    const now = heapAfterGc();
    quiet = before - now < SMALL ? quiet + 1 : 0;
    before = now;
  }
  return before;
}

const SMALL = 50_000;

/** The collector is there under --expose-gc; asked for afterwards it can be had from a new context only. */
function collector(): () => void {
  const { gc } = globalThis;
  if (gc !== undefined) return () => gc();
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
