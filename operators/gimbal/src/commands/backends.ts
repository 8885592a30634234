// `gimbal backends`: one line a backend.
import { type Client, findCondition } from '@capstan/kube';
import { table } from '@capstan/reconcile/command-line';
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

/** `isWide` adds the columns that the table cuts or leaves out, and the messages of errors. */
export function backendTable(rows: readonly BackendRow[], isWide: boolean): string {
  if (rows.length === 0) return 'There are no backends; apply a DiscoveryBackend to have one.\n';
  const wide = (...cells: string[]) => (isWide ? cells : []);
  return table(
    ['NAME', 'NAMESPACE', ...wide('KIND'), 'TYPE', 'STATE', 'SERVICES', ...wide('ENDPOINTS'), 'LAST SYNC', 'ERRORS'],
    rows.map(({ name, namespace, kind, type, state, services, endpoints, lastSyncSeconds, errors }) => [
      name,
      namespace,
      ...wide(kind),
      type ?? '-',
      state,
      String(services ?? '-'),
      ...wide(String(endpoints ?? '-')),
      lastSyncSeconds === undefined ? 'never' : `${age(lastSyncSeconds)} ago`,
      isWide
        ? errors.map((error) => `${error.type}: ${error.message}`).join('; ') || '-'
        : summary(errors.map((error) => error.type)) || '-',
    ]),
  );
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
