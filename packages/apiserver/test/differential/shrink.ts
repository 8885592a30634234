import type { DiffRequest, Sequence } from './sequence.ts';

/**
 * The shortest sequence that still differs, as far as leaving out requests one after the other finds it. Every try runs under a
 * name of its own, because a server remembers.
 */
export async function shrink(
  sequence: Sequence,
  differs: (candidate: Sequence) => Promise<boolean>,
  maxTries = 60,
): Promise<Sequence> {
  let best = sequence;
  let tries = 0;
  const attempt = async (requests: DiffRequest[]) => {
    tries++;
    return differs({ name: `${sequence.name}-s${tries}`, requests });
  };
  for (let size = Math.ceil(best.requests.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = best.requests.length - size; at >= 0 && tries < maxTries; at -= size) {
      const requests = best.requests.toSpliced(at, size);
      if (requests.length > 0 && (await attempt(requests))) best = { ...best, requests };
    }
    if (size === 1) break;
  }
  return best;
}
