// The shared parts of the generator's verbs.
import type { SeededRandom } from '@capstan/testing';
import type { GeneratedKind } from '../kinds/kind.ts';
import type { DiffRequest } from '../sequence.ts';

/** A request that has no place in a sequence yet. */
export type Unnumbered = Omit<DiffRequest, 'id'>;

export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
export const APPLY = 'application/apply-patch+yaml';

export function writeQuery(random: SeededRandom): Pick<Unnumbered, 'query'> {
  const query: Record<string, string> = {};
  if (random.chance(0.12)) query['dryRun'] = random.pick(['All', 'All', 'All', 'Some']);
  if (random.chance(0.2)) query['fieldValidation'] = random.pick(['Strict', 'Strict', 'Warn', 'Ignore', 'Odd']);
  if (random.chance(0.4)) query['fieldManager'] = random.pick(['one', 'two', 'three']);
  if (random.chance(0.02)) query['fieldManager'] = random.pick(['x'.repeat(129), 'bad\u0007']);
  if (random.chance(0.05)) query['pretty'] = 'true';
  return Object.keys(query).length === 0 ? {} : { query };
}

export function form(random: SeededRandom): Pick<Unnumbered, 'accept' | 'query'> {
  if (random.chance(0.75)) return {};
  return random.pick<Pick<Unnumbered, 'accept' | 'query'>>([
    { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' },
    {
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
      query: { includeObject: random.pick(['None', 'Object', 'Metadata', 'Odd']) },
    },
    { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' },
    { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' },
    { accept: 'application/yaml' },
    { accept: 'text/plain' },
    { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
    { accept: '*/*' },
  ]);
}

const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** In protobuf, which custom resources have no form for. */
export function encoded(random: SeededRandom, kind: GeneratedKind): Pick<Unnumbered, 'accept'> {
  if (kind.isCustom) return {};
  return {
    accept: random.pick([
      PROTOBUF,
      `${PROTOBUF},application/json`,
      `${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json`,
    ]),
  };
}

/** Other sequences share cluster-scoped objects. */
export function isShared(kind: GeneratedKind): boolean {
  return !kind.collection.includes('{ns}');
}
