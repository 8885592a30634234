import type { SeededRandom } from '@capstan/testing';
import type { GeneratedKind } from '../kinds/kind.ts';
import type { DiffRequest } from '../sequence.ts';
import { form, isShared, type Unnumbered } from './request.ts';

export function list(random: SeededRandom, kind: GeneratedKind, before: readonly DiffRequest[]): Unnumbered[] {
  const path = kind.collection;
  const chosen = selection(random, kind);
  const shape = form(random);
  const query = { ...shape.query, ...chosen };
  if (random.chance(0.3)) {
    const id = before.length + 1;
    const limit = random.pick(['1', '2']);
    return [
      { method: 'GET', path, ...shape, query: { ...query, limit } },
      { method: 'GET', path, ...shape, query: { ...query, limit, continue: `@continue:${id}` } },
    ];
  }
  const version = random.pick<Record<string, string>>([
    {},
    {},
    {},
    { resourceVersion: '0' },
    { resourceVersion: '0', resourceVersionMatch: 'NotOlderThan' },
    { resourceVersion: '0', resourceVersionMatch: 'Exact' },
    { resourceVersionMatch: 'Exact' },
    { resourceVersion: 'x' },
    { limit: '-1' },
    { limit: 'x' },
    { continue: 'nonsense' },
    { resourceVersion: '1', continue: 'x' },
    { resourceVersion: `@rv:${kind.collection}/${kind.names[0]}`, resourceVersionMatch: 'NotOlderThan' },
    { resourceVersion: `@rv:${kind.collection}/${kind.names[0]}`, resourceVersionMatch: 'Exact' },
    { resourceVersion: `@rv:${kind.collection}/${kind.names[0]}`, resourceVersionMatch: 'Odd' },
  ]);
  const isFromCache = version['resourceVersion'] === '0' || version['resourceVersionMatch'] === 'NotOlderThan';
  return [{ method: 'GET', path, ...shape, query: { ...query, ...version }, ...(isFromCache && { eventually: true }) }];
}

export function watch(random: SeededRandom, kind: GeneratedKind, _before: readonly DiffRequest[]): Unnumbered {
  const version = random.pick<Record<string, string>>([
    {},
    { resourceVersion: '0' },
    // How far back a real server remembers custom resources depends on when their definition last changed.
    kind.isCustom ? {} : { resourceVersion: `@rv:${kind.collection}/${kind.names[0]}` },
    { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: 'true' },
    { sendInitialEvents: 'true' },
    { resourceVersion: 'x' },
  ]);
  const accept = random.chance(0.15) ? { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' } : {};
  return {
    method: 'GET',
    path: kind.collection,
    query: { ...selection(random, kind), ...version, watch: 'true' },
    watch: true,
    ...accept,
  };
}

const LABEL_SELECTORS = [
  'app=x',
  'app!=x',
  'app in (x,y)',
  'app notin (x)',
  'app',
  '!app',
  'app=x,tier=front',
  'app==y',
  'a b=c',
  'app in x',
  'app>5',
];

function selection(random: SeededRandom, kind: GeneratedKind): Record<string, string> {
  return {
    // Other sequences share cluster-scoped objects.
    ...(isShared(kind)
      ? { labelSelector: 'app=only-{ns}' }
      : random.chance(0.4)
        ? { labelSelector: random.pick(LABEL_SELECTORS) }
        : {}),
    ...(!isShared(kind) &&
      random.chance(0.3) && {
        fieldSelector: random.pick([
          ...(kind.fieldSelectors ?? []),
          'metadata.name=a,metadata.namespace={ns}',
          'nonsense',
        ]),
      }),
  };
}
