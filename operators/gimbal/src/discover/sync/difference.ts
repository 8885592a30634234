import type { KubeObject } from '@capstan/kube/cluster';
import type { Finding } from '../mirror/mirror.ts';
import type { LocalRecord, RecordKind } from './local-record.ts';

/** What is here under one key. */
export interface LocalUnit {
  readonly service?: LocalRecord;
  readonly endpoints?: LocalRecord;
  /** By name. */
  readonly slices: ReadonlyMap<string, LocalRecord>;
}

export interface Write {
  readonly kind: RecordKind;
  readonly wanted: KubeObject;
  /** What is to be changed; undefined when it is to be created. */
  readonly record: LocalRecord | undefined;
}

export interface Removal {
  readonly kind: RecordKind;
  readonly record: LocalRecord;
}

export interface Difference {
  /** The Service before what belongs to it. */
  readonly writes: readonly Write[];
  /** The Service after what belonged to it. Only what a discoverer made. */
  readonly removals: readonly Removal[];
}

const NOTHING: Difference = { writes: [], removals: [] };

/** What is to be done so that what is here is what the remote side has. */
export function difference(
  finding: Finding,
  { service, endpoints, slices }: LocalUnit,
  digestOf: (wanted: KubeObject) => string,
): Difference {
  if (finding.state === 'invalid' && finding.keep) return NOTHING;
  if (finding.state !== 'present') {
    const all = [...removalsOf('EndpointSlice', slices.values()), ...removalsOf('Endpoints', [endpoints])];
    return { writes: [], removals: [...all, ...removalsOf('Service', [service])] };
  }
  const { mirror } = finding;
  const writes: Write[] = [];
  const compare = (kind: RecordKind, wanted: KubeObject, record: LocalRecord | undefined) => {
    if (record?.digest !== digestOf(wanted)) writes.push({ kind, wanted, record });
  };
  compare('Service', mirror.service, service);
  const names = new Set<string>();
  for (const slice of mirror.slices) {
    const name = slice.metadata.name ?? '';
    names.add(name);
    compare('EndpointSlice', slice, slices.get(name));
  }
  if (mirror.endpoints !== undefined) compare('Endpoints', mirror.endpoints, endpoints);
  const left = [...slices].filter(([name]) => !names.has(name)).map(([, record]) => record);
  return {
    writes,
    removals: [
      ...removalsOf('EndpointSlice', left),
      ...removalsOf('Endpoints', mirror.endpoints === undefined ? [endpoints] : []),
    ],
  };
}

function removalsOf(kind: RecordKind, records: Iterable<LocalRecord | undefined>): Removal[] {
  const removals: Removal[] = [];
  for (const record of records) if (record?.copied !== undefined) removals.push({ kind, record });
  return removals;
}
