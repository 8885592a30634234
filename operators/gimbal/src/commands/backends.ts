// `gimbal backends`: one line a backend.
import { type Client, findCondition } from '@capstan/kube';
import type { DiscoveryBackend } from '../kinds/index.ts';
import { findBackends } from './find-backends.ts';

export interface BackendRow {
  readonly name: string;
  readonly namespace: string;
  readonly kind: string;
  readonly type: string | undefined;
  /** Running, Drained, Rejected, … */
  readonly state: string;
  readonly services: number | undefined;
  readonly endpoints: number | undefined;
  readonly lastSync: string | undefined;
  /** Since the last sync. */
  readonly lastSyncSeconds: number | undefined;
  readonly synced: boolean;
  readonly errors: readonly { readonly type: string; readonly message: string; readonly statusTime: string }[];
}

export async function backendRows(client: Client, now: number, namespace?: string): Promise<BackendRow[]> {
  const found = await findBackends(client, namespace);
  return found.map(({ kind, object }) => rowOf(kind.kind, object, now));
}

function rowOf(kind: string, { metadata, status }: DiscoveryBackend, now: number): BackendRow {
  const { effective, maintenance, counts, discovery, errors = [] } = status ?? {};
  const lastSync = discovery?.lastSync;
  return {
    name: metadata.name ?? '',
    namespace: metadata.namespace ?? '',
    kind,
    type: effective?.type,
    state: stateOf(status?.phase, maintenance?.state),
    services: counts?.replicatedServices,
    endpoints: counts?.replicatedEndpoints,
    lastSync,
    lastSyncSeconds: lastSync === undefined ? undefined : Math.max(0, Math.round((now - Date.parse(lastSync)) / 1000)),
    synced: findCondition(status?.conditions, 'Synced')?.status === 'True',
    errors: errors.map(({ type, message, statusTime }) => ({ type, message, statusTime })),
  };
}

/** In maintenance it is the stage that is asked for. */
function stateOf(phase = 'Unknown', stage: string | undefined): string {
  return phase === 'Maintenance' && stage !== undefined ? stage : phase;
}

export const HEADING = ['NAME', 'NAMESPACE', 'TYPE', 'STATE', 'SERVICES', 'LAST SYNC', 'ERRORS'];

export function cellsOf({ name, namespace, type, state, services, lastSyncSeconds, errors }: BackendRow): string[] {
  return [
    name,
    namespace,
    type ?? '-',
    state,
    services === undefined ? '-' : String(services),
    lastSyncSeconds === undefined ? 'never' : `${age(lastSyncSeconds)} ago`,
    errors.length === 0 ? '-' : summary(errors.map(({ type: each }) => each)),
  ];
}

function summary(types: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts].map(([type, many]) => (many === 1 ? type : `${type} (${many})`)).join(', ');
}

/** As kubectl shows ages: two units at most. */
export function age(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
