// The report of each replica about itself, in an annotation of its own Lease.
import { type Lease, parseTime } from '@capstan/kube/cluster';
import type { Version } from '../program/in-force.ts';
import type { Problem } from './problem.ts';

/** A resource that an Envoy refused. */
export interface Nack {
  /** The object that it was built from, `HTTPProxy default/shop`, or the name of the resource. */
  readonly object: string;
  /** lds, rds, cds, … */
  readonly type: string;
  readonly message: string;
}

export interface InstanceRecord {
  /** The SesameConfiguration that it reads. */
  readonly configuration: string;
  readonly state: 'Running' | 'Starting' | 'Stopped' | 'Failed';
  readonly source: 'resource' | 'defaults' | 'file';
  /** The version that is in force everywhere in the process. */
  readonly version?: Version | undefined;
  /** The obstacle, for people. */
  readonly problem?: string | undefined;
  readonly nacks: readonly Nack[];
  /** References of its configuration that cannot be used. */
  readonly warnings?: readonly Problem[];
  /** Errors that only a running replica can find: a lock that the server refuses. */
  readonly errors?: readonly Problem[];
}

export const INSTANCE_LABEL = 'projectsesame.io/instance';
/** The field manager of a replica that writes its Lease. */
export const INSTANCE_MANAGER = 'sesame-serve';
export const INSTANCE_ANNOTATION = 'projectsesame.io/instance-state';

/** At most so many refusals are reported; the others are in the metrics. */
export const MAX_NACKS = 32;
const MAX_MESSAGE = 500;

/** How long a Lease holds without a renewal, and how often it is renewed. */
export const LEASE_SECONDS = 30;
export const RENEW_MS = 10_000;

export function formatRecord(record: InstanceRecord): string {
  const nacks = record.nacks
    .slice(0, MAX_NACKS)
    .map((nack) => ({ ...nack, message: nack.message.slice(0, MAX_MESSAGE) }));
  return JSON.stringify({ ...record, nacks });
}

export interface Instance {
  readonly name: string;
  readonly record: InstanceRecord;
  /** Milliseconds since the epoch: from then on it counts as gone. */
  readonly expiresAt: number;
}

/** The instance of a Lease; undefined for a Lease that is none, or is not readable. */
export function instanceOf({ metadata, spec }: Lease): Instance | undefined {
  const text = metadata.annotations?.[INSTANCE_ANNOTATION];
  if (text === undefined || spec?.renewTime === undefined) return undefined;
  try {
    const record = JSON.parse(text) as InstanceRecord;
    const name = metadata.name ?? '';
    const expiresAt = parseTime(spec.renewTime) + (spec.leaseDurationSeconds ?? LEASE_SECONDS) * 1000;
    return { name: name.replace(/^sesame-/, ''), record: { ...record, nacks: record.nacks ?? [] }, expiresAt };
  } catch {
    return undefined;
  }
}
