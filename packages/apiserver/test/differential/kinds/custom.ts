import type { SeededRandom } from '@capstan/testing';
import { type GeneratedKind, maybe, subset } from './kind.ts';

const ITEMS = [
  { name: 'one', value: '1' },
  { name: 'two', weight: 5 },
  { name: 'three' },
  { value: 'nameless' },
  { name: 'one', value: 'again' },
];

function spec(random: SeededRandom): Record<string, unknown> {
  return {
    ...maybe(random, 0.95, () => ({ size: random.pick<unknown>([1, 2, 3, 40, 60, 101, -1, '3', 2.5]) })),
    ...maybe(random, 0.3, () => ({ ratio: random.pick<unknown>([0.5, 2, '1', 1e21]) })),
    ...maybe(random, 0.3, () => ({ mode: random.pick<unknown>(['Auto', 'Manual', 'manual', null]) })),
    ...maybe(random, 0.2, () => ({ name: random.pick(['abc', 'a', 'ABC', 'abcdefghijkl']) })),
    ...maybe(random, 0.1, () => ({ when: random.pick(['2026-01-01T00:00:00Z', 'yesterday']) })),
    ...maybe(random, 0.2, () => ({ enabled: random.pick<unknown>([true, false, 'true', 0]) })),
    ...maybe(random, 0.2, () => ({ port: random.pick<unknown>([80, 'http', 1.5, true]) })),
    ...maybe(random, 0.2, () => ({ nothing: null })),
    ...maybe(random, 0.3, () => ({ fixed: random.pick(['x', 'y']) })),
    ...maybe(random, 0.3, () => ({
      limits: random.pick<unknown>([{}, { low: 5 }, { low: 50 }, { high: 0 }, null, []]),
    })),
    ...maybe(random, 0.3, () => ({
      tags: random.pick<unknown>([['a'], ['a', 'b'], ['a', 'a'], ['1', '2', '3', '4', '5'], 'a', null]),
    })),
    ...maybe(random, 0.4, () => ({ items: subset(random, ITEMS.slice(0, random.pick([3, 3, 5]))) })),
    ...maybe(random, 0.2, () => ({ steps: subset(random, [{ run: 'a' }, { run: 'b' }, { walk: 'c' }]) })),
    ...maybe(random, 0.2, () => ({ atom: subset(random, ['a', 'b']).length > 0 ? { a: 'x' } : { b: 'y', c: 'z' } })),
    ...maybe(random, 0.2, () => ({ options: random.pick<unknown>([{ a: 'b' }, { a: 1 }, { a: null }, {}]) })),
    ...maybe(random, 0.2, () => ({ free: random.pick<unknown>([{ a: { b: [1, 'x', null] } }, {}, { n: null }]) })),
    ...maybe(random, 0.15, () => ({
      template: random.pick<unknown>([
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', odd: 1 }, data: {} },
        { kind: 'ConfigMap' },
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { labels: { 'a b': 'c' } } },
      ]),
    })),
    ...maybe(random, 0.1, () => ({ unknown: { deep: 1 } })),
  };
}

const easy = (random: SeededRandom) => ({
  size: random.pick([1, 2, 3]),
  ...maybe(random, 0.4, () => ({ items: subset(random, ITEMS.slice(0, 3)) })),
  ...maybe(random, 0.4, () => ({ tags: subset(random, ['a', 'b', 'c']) })),
  ...maybe(random, 0.3, () => ({
    options: Object.fromEntries(subset(random, ['a', 'b']).map((key) => [key, random.pick(['1', '2'])])),
  })),
  ...maybe(random, 0.3, () => ({ atom: { [random.pick(['a', 'b'])]: 'x' } })),
  ...maybe(random, 0.3, () => ({ limits: { low: random.pick([1, 2]) } })),
  ...maybe(random, 0.2, () => ({ free: { [random.pick(['a', 'b'])]: { c: random.pick([1, 2]) } } })),
  ...maybe(random, 0.2, () => ({ steps: [{ run: random.pick(['a', 'b']) }] })),
});

export const widgets: GeneratedKind = {
  collection: '/apis/differential.dev/v1/namespaces/{ns}/widgets',
  apiVersion: 'differential.dev/v1',
  kind: 'Widget',
  names: ['a', 'b'],
  content: (random) => (random.chance(0.98) ? { spec: random.chance(0.5) ? easy(random) : spec(random) } : {}),
  patch: (random) =>
    random.chance(0.5)
      ? { spec: spec(random) }
      : random.pick<Record<string, unknown>>([
          { spec: { size: 2 } },
          { spec: { mode: null } },
          { spec: { items: null } },
          { spec: { fixed: 'z' } },
          { spec: { ratio: null } },
          { spec: null },
          { status: { ready: 1 } },
          { more: 1 },
        ]),
  operations: (random) =>
    random.pick<unknown[]>([
      [{ op: 'add', path: '/spec/items/-', value: { name: 'four' } }],
      [{ op: 'add', path: '/spec/items', value: [{ name: 'x' }] }],
      [{ op: 'replace', path: '/spec/size', value: random.pick<unknown>([5, 'x', 500]) }],
      [{ op: 'remove', path: '/spec/mode' }],
      [{ op: 'remove', path: '/spec' }],
      [{ op: 'add', path: '/spec/unknown', value: 1 }],
    ]),
  applied: (random) => ({ spec: random.chance(0.7) ? easy(random) : spec(random) }),
  status: (random) => ({
    ...maybe(random, 0.8, () => ({ ready: random.pick<unknown>([1, 2, 'x']) })),
    ...maybe(random, 0.3, () => ({ selector: 'app=x' })),
    ...maybe(random, 0.5, () => ({ conditions: [{ type: random.pick(['A', 'B']), status: 'True' }] })),
    ...maybe(random, 0.1, () => ({ more: 1 })),
  }),
  hasScale: true,
  isCustom: true,
  fieldSelectors: ['metadata.name=a', 'spec.mode=Auto', 'spec.mode!=Auto', 'spec.size=1', 'metadata.namespace={ns}'],
};

export const oldWidgets: GeneratedKind = {
  ...widgets,
  collection: '/apis/differential.dev/v1beta1/namespaces/{ns}/widgets',
  apiVersion: 'differential.dev/v1beta1',
  hasScale: false,
};

export const gadgets: GeneratedKind = {
  ...widgets,
  collection: '/apis/differential.dev/v1/gadgets',
  kind: 'Gadget',
  names: ['{ns}-a', '{ns}-b'],
  content: (random) => ({
    ...maybe(random, 0.8, () => ({
      spec: {
        ...maybe(random, 0.4, () => ({ colour: random.pick<unknown>(['red', 'green', 'blue', 5]) })),
        ...maybe(random, 0.4, () => ({ parts: random.pick<unknown>([['a'], ['a', 'a'], [], [null], null]) })),
        ...maybe(random, 0.4, () => ({
          owner: random.pick<unknown>([{}, { name: 'me' }, { age: 3 }, { age: 'x' }, null]),
        })),
      },
    })),
    ...maybe(random, 0.3, () => ({ status: { phase: 'New' } })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { spec: { colour: 'green' } },
      { spec: { parts: ['x', 'y'] } },
      { status: { phase: 'Old' } },
      { spec: { owner: null } },
    ]),
  operations: () => [{ op: 'add', path: '/status', value: { phase: 'P' } }],
  applied: (random) => ({
    spec: {
      ...maybe(random, 0.5, () => ({ colour: random.pick(['red', 'green']) })),
      ...maybe(random, 0.5, () => ({ parts: subset(random, ['a', 'b']) })),
      ...maybe(random, 0.5, () => ({ owner: { name: random.pick(['me', 'you']) } })),
    },
    ...maybe(random, 0.3, () => ({ status: { phase: 'Applied' } })),
  }),
  status: () => ({ phase: 'S' }),
  hasScale: false,
  fieldSelectors: ['metadata.name={ns}-a', 'spec.colour=red'],
};
