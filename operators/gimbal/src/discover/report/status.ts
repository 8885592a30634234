// The report of a discoverer on its DiscoveryBackend, under a field manager of its own: `status.discovery` and nothing else. Volatile
// figures (times, counts of errors) are written with another change, or when they have moved by a bucket. A settled discoverer therefore
// writes nothing, also after a restart.
import { canonicalJson, formatTime, type KubeObject } from '@capstan/kube/cluster';
import type { Redactor } from '@capstan/reconcile/logging';
import type { Counts } from './census.ts';
import type { LoggedProblem } from './problem-log.ts';

/** The fields of a discoverer are applied under this name. */
export const STATUS_MANAGER = 'gimbal-discoverer';

/** As in the schema of the DiscoveryBackend. */
export interface DiscoveryStatus {
  readonly synced: boolean;
  readonly lastSync?: string;
  readonly version: string;
  readonly identity?: string;
  readonly credentials?: string;
  readonly counts: Counts;
  readonly errors?: readonly StatusError[];
}

export interface StatusError {
  readonly type: string;
  readonly message: string;
  readonly statusTime: string;
  readonly firstTime?: string;
  readonly count?: number;
  readonly namespace?: string;
  readonly name?: string;
}

export interface StatusParts {
  readonly synced: boolean;
  readonly lastSync: number | undefined;
  readonly version: string;
  readonly identity: string | undefined;
  readonly credentials: string | undefined;
  readonly counts: Counts;
  readonly problems: readonly LoggedProblem[];
}

const MAX_ERRORS = 50;
const MAX_MESSAGE = 1024;

export function composeStatus(parts: StatusParts, redactor: Redactor): DiscoveryStatus {
  const { synced, lastSync, version, identity, credentials, counts, problems } = parts;
  return {
    synced,
    ...(lastSync !== undefined && { lastSync: formatTime(lastSync) }),
    version,
    ...(identity !== undefined && { identity }),
    ...(credentials !== undefined && { credentials }),
    counts,
    ...(problems.length > 0 && {
      errors: problems.slice(0, MAX_ERRORS).map(({ type, message, namespace, name, count, firstAt, lastAt }) => ({
        type,
        message: cut(redactor.clean(message)),
        statusTime: formatTime(lastAt),
        firstTime: formatTime(firstAt),
        count,
        ...(namespace !== undefined && { namespace }),
        ...(name !== undefined && { name }),
      })),
    }),
  };
}

function cut(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`;
}

/** Returns whether `next` differs enough from the written status for a write. */
export function isWorthWriting(written: DiscoveryStatus | undefined, next: DiscoveryStatus): boolean {
  if (written === undefined) return true;
  if (canonicalJson(significant(written)) !== canonicalJson(significant(next))) return true;
  if (moved(written.lastSync, next.lastSync) >= SYNC_BUCKET_MS) return true;
  const seen = (status: DiscoveryStatus) => status.errors?.[0]?.statusTime;
  return moved(seen(written), seen(next)) >= ERROR_BUCKET_MS;
}

const SYNC_BUCKET_MS = 600_000;
const ERROR_BUCKET_MS = 60_000;

function significant({ lastSync: _lastSync, errors = [], ...rest }: DiscoveryStatus): unknown {
  const shown = errors.map(({ type, namespace, name, message }) => canonicalJson([type, namespace, name, message]));
  return { ...rest, errors: shown.toSorted() };
}

function moved(from: string | undefined, to: string | undefined): number {
  if (to === undefined) return 0;
  return from === undefined ? Number.POSITIVE_INFINITY : Date.parse(to) - Date.parse(from);
}

/** Returns the discovery in an object's status; undefined if there is none or it cannot be read. */
export function discoveryOf(object: KubeObject | undefined): DiscoveryStatus | undefined {
  const { status } = (object ?? {}) as { status?: { discovery?: Partial<DiscoveryStatus> } };
  const discovery = status?.discovery;
  if (discovery?.counts === undefined || discovery.version === undefined) return undefined;
  return { ...discovery, synced: discovery.synced ?? false, version: discovery.version, counts: discovery.counts };
}

/** The problems that a status reports, to continue their counts. */
export function rememberedProblems(status: DiscoveryStatus | undefined): LoggedProblem[] {
  return (status?.errors ?? []).map(({ type, message, statusTime, firstTime, count = 1, namespace, name }) => ({
    // This value is only compared with this discoverer's own findings.
    type: type as LoggedProblem['type'],
    message,
    count,
    lastAt: Date.parse(statusTime),
    firstAt: Date.parse(firstTime ?? statusTime),
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  }));
}
