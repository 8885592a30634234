import type { SeededRandom } from '@capstan/testing';
import { maybe } from '../kinds/kind.ts';

export function meta(random: SeededRandom, name: string, isNamed = false): Record<string, unknown> {
  return {
    ...maybe(random, isNamed ? 1 : 0.97, () => ({ name })),
    ...maybe(random, 0.35, () => ({ labels: labels(random) })),
    ...maybe(random, 0.15, () => ({ annotations: { note: random.pick(['x', 'y']) } })),
    ...maybe(random, 0.12, () => ({
      finalizers: random.pick([['example.com/hold'], ['example.com/hold', 'example.com/other'], ['bad'], []]),
    })),
    ...maybe(random, 0.05, () => ({ ownerReferences: [owner(random)] })),
    ...maybe(random, 0.03, () => ({ unknownMeta: 'x' })),
    ...maybe(random, 0.03, () => ({ namespace: random.pick(['{ns}', 'other']) })),
  };
}

function labels(random: SeededRandom): Record<string, unknown> {
  return random.pick<Record<string, unknown>>([
    { app: 'x' },
    { app: 'x', tier: 'front' },
    { app: 'y' },
    {},
    ...(random.chance(0.2) ? [{ 'bad key': 'x' }, { app: 'not valid!' }, { app: 5 }, { app: null }] : []),
  ]);
}

/** The one object that is never deleted: the garbage collector works in its own time and has sequences of its own. */
function owner(random: SeededRandom): Record<string, unknown> {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    name: 'default',
    uid: random.pick(['@uid:/api/v1/namespaces/{ns}/serviceaccounts/default', '']),
    ...maybe(random, 0.3, () => ({ controller: true })),
    ...maybe(random, 0.3, () => ({ blockOwnerDeletion: true })),
  };
}

export function withMeta(random: SeededRandom, content: Record<string, unknown>): Record<string, unknown> {
  if (random.chance(0.6)) return content;
  const metadata = random.pick<Record<string, unknown>>([
    { labels: { app: random.pick(['x', 'z']) } },
    { labels: { tier: null } },
    { annotations: { note: 'patched' } },
    { finalizers: null },
    { finalizers: ['example.com/hold'] },
    { finalizers: [] },
    { name: 'renamed' },
    { resourceVersion: '1' },
    { uid: 'x' },
    { generation: 7 },
    { creationTimestamp: null },
    { deletionTimestamp: '2026-01-01T00:00:00Z' },
    { managedFields: [] },
    { managedFields: [{}] },
    { labels: null },
    { ownerReferences: [owner(random)] },
  ]);
  return random.chance(0.5) ? { metadata } : { ...content, metadata };
}
