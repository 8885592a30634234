import type { SeededRandom } from '@capstan/testing';
import { type GeneratedKind, maybe } from '../kinds/kind.ts';
import { isShared, type Unnumbered } from './request.ts';

export function remove(random: SeededRandom, kind: GeneratedKind, path: string): Unnumbered[] {
  const policy = random.pick([undefined, undefined, 'Background', 'Foreground', 'Orphan', 'Odd']);
  const options: Record<string, unknown> = {
    ...(policy !== undefined && { propagationPolicy: policy }),
    ...maybe(random, 0.2, () => ({ gracePeriodSeconds: random.pick<unknown>([0, 1, -1, 'x']) })),
    ...maybe(random, 0.15, () => ({
      preconditions: random.pick<object>([
        { uid: `@uid:${path}` },
        { uid: 'x' },
        { resourceVersion: `@oldrv:${path}` },
        {},
      ]),
    })),
    ...maybe(random, 0.1, () => ({ dryRun: random.pick([['All'], ['Some']]) })),
    ...maybe(random, 0.04, () => ({ orphanDependents: true })),
    ...maybe(random, 0.04, () => ({ unknown: 1 })),
  };
  // A namespace goes in its own time, and takes everything along: that is for sequences of their own.
  if (kind.kind === 'Namespace') return [{ method: 'DELETE', path, body: { dryRun: ['All'] } }];
  const isBody = random.chance(0.5);
  const first: Unnumbered = isBody
    ? {
        method: 'DELETE',
        path,
        body: { ...(random.chance(0.6) && { apiVersion: 'v1', kind: 'DeleteOptions' }), ...options },
      }
    : { method: 'DELETE', path, ...(policy !== undefined && { query: { propagationPolicy: policy } }) };
  // The collector's work is compared when it is done; finalizers hold it until a user removes them.
  const isOrphaned = isBody && options['orphanDependents'] === true;
  const isSlow = policy === 'Foreground' || policy === 'Orphan' || isOrphaned;
  if (!isSlow) return [first];
  return [first, { method: 'GET', path, eventually: true }];
}

export function removeAll(random: SeededRandom, kind: GeneratedKind): Unnumbered {
  const query = isShared(kind)
    ? { labelSelector: 'app=only-{ns}' }
    : { labelSelector: random.pick(['app=x', 'app=y', 'tier', 'bad selector here']) };
  return { method: 'DELETE', path: kind.collection, query };
}
