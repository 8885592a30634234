import type { SeededRandom } from '@capstan/testing';
import { type GeneratedKind, maybe } from '../kinds/kind.ts';
import { meta, withMeta } from './metadata.ts';
import { APPLY, form, MERGE, STRATEGIC, type Unnumbered, writeQuery } from './request.ts';

export function create(random: SeededRandom, kind: GeneratedKind): Unnumbered {
  const name = random.pick(kind.names);
  const metadata = random.chance(0.06)
    ? { generateName: random.pick([`${name}-`, `${name}-`, 'Bad_']), ...maybe(random, 0.2, () => ({ name })) }
    : meta(random, name, kind.kind === 'Service');
  const body = { ...head(random, kind), metadata, ...kind.content(random) };
  return {
    method: 'POST',
    path: kind.collection,
    body,
    ...writeQuery(random),
    ...(random.chance(0.1) && form(random)),
  };
}

function head(random: SeededRandom, { apiVersion, kind, isCustom }: GeneratedKind): Record<string, unknown> {
  if (random.chance(0.96)) return { apiVersion, kind };
  return random.pick<Record<string, unknown>>([
    { kind },
    { apiVersion },
    {},
    { apiVersion: 'v9', kind },
    ...(isCustom ? [] : [{ apiVersion, kind: 'Other' }]),
  ]);
}

export function replace(random: SeededRandom, kind: GeneratedKind, name: string, path: string): Unnumbered {
  const version = random.pick([undefined, undefined, undefined, `@rv:${path}`, `@oldrv:${path}`, '0', 'x']);
  const metadata = {
    ...(random.chance(0.95) ? { ...meta(random, name), name } : meta(random, 'elsewhere')),
    ...(version !== undefined && { resourceVersion: version }),
    ...maybe(random, 0.05, () => ({ uid: random.pick([`@uid:${path}`, 'another']) })),
  };
  // Most programs send back the object that they have read, with a change.
  if (random.chance(0.6)) {
    const patched = withMeta(random, kind.patch(random));
    return { method: 'PUT', path, edit: { path, patch: patched }, ...writeQuery(random) };
  }
  return {
    method: 'PUT',
    path,
    body: { ...head(random, kind), metadata, ...kind.content(random) },
    ...writeQuery(random),
  };
}

export function patch(
  random: SeededRandom,
  _kind: GeneratedKind,
  path: string,
  contentType: string,
  body: unknown,
): Unnumbered {
  return { method: 'PATCH', path, contentType, body, ...writeQuery(random) };
}

export function apply(random: SeededRandom, kind: GeneratedKind, name: string, path: string): Unnumbered {
  const metadata = {
    name,
    ...maybe(random, 0.3, () => ({ labels: { [random.pick(['app', 'tier'])]: random.pick(['x', 'y']) } })),
    ...maybe(random, 0.15, () => ({ annotations: { note: random.pick(['x', 'y']) } })),
    ...maybe(random, 0.05, () => ({ finalizers: ['example.com/hold'] })),
    ...maybe(random, 0.05, () => ({ resourceVersion: random.pick([`@rv:${path}`, `@oldrv:${path}`, '1']) })),
    ...maybe(random, 0.02, () => ({ managedFields: [] })),
  };
  const { query } = writeQuery(random);
  return {
    method: 'PATCH',
    path,
    contentType: APPLY,
    body: { ...head(random, kind), metadata, ...kind.applied(random) },
    query: {
      ...query,
      ...(random.chance(0.97) && { fieldManager: random.pick(['one', 'two', 'three']) }),
      ...(random.chance(0.45) && { force: random.pick(['true', 'true', 'true', 'false']) }),
    },
  };
}

export function status(random: SeededRandom, kind: GeneratedKind, name: string, path: string): Unnumbered {
  const content = { status: kind.status?.(random) ?? { phase: 'X' } };
  const at = `${path}/status`;
  const query = writeQuery(random);
  const { apiVersion, kind: type } = kind;
  return random.pick<() => Unnumbered>([
    () => ({ method: 'PATCH', path: at, contentType: MERGE, body: content, ...query }),
    () => ({ method: 'PATCH', path: at, contentType: STRATEGIC, body: content, ...query }),
    () => ({
      method: 'PUT',
      path: at,
      edit: { path, patch: { ...content, metadata: { labels: { app: 'status' } } } },
      ...query,
    }),
    () => ({
      method: 'PATCH',
      path: at,
      contentType: APPLY,
      body: { apiVersion, kind: type, metadata: { name }, ...content },
      query: { fieldManager: random.pick(['one', 'two']), ...(random.chance(0.5) && { force: 'true' }) },
    }),
    () => ({ method: 'GET', path: at }),
  ])();
}

export function scale(random: SeededRandom, _kind: GeneratedKind, path: string, turn: number): Unnumbered {
  const at = `${path}/scale`;
  const name = path.slice(path.lastIndexOf('/') + 1);
  return random.pick<() => Unnumbered>([
    () => ({ method: 'GET', path: at }),
    () => ({
      method: 'PATCH',
      path: at,
      contentType: MERGE,
      body: { spec: { replicas: random.pick<unknown>([0, 10 + turn, 10 + turn, -1, 'x', null]) } },
      ...writeQuery(random),
    }),
    () => ({
      method: 'PUT',
      path: at,
      body: {
        apiVersion: 'autoscaling/v1',
        kind: 'Scale',
        metadata: {
          name: random.pick([name, name, 'other']),
          namespace: '{ns}',
          ...maybe(random, 0.3, () => ({ resourceVersion: random.pick([`@rv:${path}`, `@oldrv:${path}`]) })),
        },
        // Each turn has its own number: the write of a scale that changes nothing is not compared.
        spec: { replicas: 10 + turn },
      },
      ...writeQuery(random),
    }),
  ])();
}
