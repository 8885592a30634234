import type { SeededRandom } from '@capstan/testing';
import { type GeneratedKind, maybe } from './kind.ts';

const KEYS = ['a', 'b', 'c'];

function data(random: SeededRandom): Record<string, unknown> {
  const entries: [string, unknown][] = KEYS.filter(() => random.chance(0.5)).map((key) => [
    key,
    random.pick(['1', '2', '']),
  ]);
  if (random.chance(0.04)) entries.push(['not a key', 'x']);
  if (random.chance(0.04)) entries.push(['n', random.pick<unknown>([1, true, ['x'], { a: 'b' }])]);
  if (random.chance(0.04)) entries.push(['z', null]);
  return Object.fromEntries(entries);
}

export const configMaps: GeneratedKind = {
  collection: '/api/v1/namespaces/{ns}/configmaps',
  apiVersion: 'v1',
  kind: 'ConfigMap',
  names: ['a', 'b'],
  content: (random) => ({
    ...maybe(random, 0.9, () => ({ data: data(random) })),
    ...maybe(random, 0.1, () => ({ binaryData: { bin: random.pick(['aGk=', 'not base64!']) } })),
    ...maybe(random, 0.1, () => ({ immutable: random.chance(0.5) })),
    ...maybe(random, 0.05, () => ({ unknown: 1 })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { data: { a: random.pick(['1', '2']) } },
      { data: { a: null, b: '3' } },
      { data: null },
      { data: data(random) },
      { binaryData: { bin: 'aGk=' } },
      { immutable: true },
      { extra: 'x' },
      {},
    ]),
  operations: (random) =>
    random.pick<unknown[]>([
      [{ op: 'add', path: '/data/b', value: 'x' }],
      [{ op: 'replace', path: '/data/a', value: 'y' }],
      [{ op: 'remove', path: '/data/a' }],
      [
        { op: 'test', path: '/data/a', value: '1' },
        { op: 'add', path: '/data/t', value: 'ok' },
      ],
      [{ op: 'copy', from: '/data/a', path: '/data/c' }],
      [{ op: 'move', from: '/data/a', path: '/data/c' }],
      [{ op: 'add', path: '/data', value: {} }],
      [{ op: 'add', path: '/data/n', value: 5 }],
      [{ op: 'jump', path: '/data/a' }],
      [{ op: 'replace', path: '/metadata/name', value: 'other' }],
      [],
    ]),
  applied: (random) => ({
    data: Object.fromEntries(KEYS.filter(() => random.chance(0.5)).map((key) => [key, random.pick(['1', '2'])])),
    ...maybe(random, 0.05, () => ({ unknown: 1 })),
  }),
  fieldSelectors: ['metadata.name=a', 'metadata.name!=a', 'data.a=1', 'metadata.namespace={ns}'],
};

export const secrets: GeneratedKind = {
  ...configMaps,
  collection: '/api/v1/namespaces/{ns}/secrets',
  kind: 'Secret',
  content: (random) => ({
    ...maybe(random, 0.6, () => ({ data: { a: random.pick(['aGk=', 'eA==', '', 'x']) } })),
    ...maybe(random, 0.4, () => ({ stringData: { [random.pick(['a', 'b'])]: 'text' } })),
    ...maybe(random, 0.5, () => ({
      type: random.pick([
        'Opaque',
        'kubernetes.io/tls',
        'kubernetes.io/dockerconfigjson',
        'kubernetes.io/basic-auth',
        'kubernetes.io/service-account-token',
        'kubernetes.io/ssh-auth',
        'example.com/own',
      ]),
    })),
    ...maybe(random, 0.1, () => ({ immutable: random.chance(0.5) })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { data: { a: 'aGk=' } },
      { stringData: { b: 'x' } },
      { data: { a: null } },
      { data: { a: '%' } },
      { type: 'other' },
      { immutable: true },
    ]),
  applied: (random) => ({
    ...maybe(random, 0.7, () => ({ data: { a: random.pick(['aGk=', 'eA==']) } })),
    ...maybe(random, 0.3, () => ({ stringData: { b: 'x' } })),
  }),
  fieldSelectors: ['metadata.name=a', 'type=Opaque', 'type!=Opaque'],
};

export const serviceAccounts: GeneratedKind = {
  ...configMaps,
  collection: '/api/v1/namespaces/{ns}/serviceaccounts',
  kind: 'ServiceAccount',
  content: (random) => ({
    ...maybe(random, 0.4, () => ({ secrets: [{ name: 's1' }, ...(random.chance(0.5) ? [{ name: 's2' }] : [])] })),
    ...maybe(random, 0.4, () => ({ imagePullSecrets: [{ name: 'p1' }] })),
    ...maybe(random, 0.4, () => ({ automountServiceAccountToken: random.chance(0.5) })),
  }),
  patch: (random) =>
    random.pick<Record<string, unknown>>([
      { secrets: [{ name: 's3' }] },
      { secrets: null },
      { imagePullSecrets: [{ name: 'p2' }] },
      { automountServiceAccountToken: false },
      { automountServiceAccountToken: 'no' },
    ]),
  operations: (random) =>
    random.pick<unknown[]>([
      [{ op: 'add', path: '/secrets/-', value: { name: 'x' } }],
      [{ op: 'add', path: '/secrets', value: [{ name: 'y' }] }],
      [{ op: 'remove', path: '/secrets/0' }],
      [{ op: 'add', path: '/secrets/9', value: { name: 'x' } }],
    ]),
  applied: (random) => ({
    ...maybe(random, 0.6, () => ({ secrets: [{ name: random.pick(['s1', 's2']) }] })),
    ...maybe(random, 0.6, () => ({ imagePullSecrets: [{ name: random.pick(['p1', 'p2']) }] })),
    ...maybe(random, 0.3, () => ({ automountServiceAccountToken: random.chance(0.5) })),
  }),
  fieldSelectors: ['metadata.name=a'],
};
