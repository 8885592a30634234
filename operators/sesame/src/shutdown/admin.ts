// Envoy's admin interface over its unix socket: as much as an orderly shutdown needs.
import { request } from 'node:http';

export interface AdminReply {
  readonly status: number;
  readonly body: string;
}

/** One request; rejects when the socket cannot be reached. */
export function askAdmin(
  socketPath: string,
  method: 'GET' | 'POST',
  path: string,
  signal: AbortSignal,
): Promise<AdminReply> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, method, path, signal, timeout: 10_000 }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString('utf8') }),
      );
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer within 10 s')));
    sent.on('error', reject);
    sent.end();
  });
}

/** The statistics that count open connections of users. */
export const CONNECTIONS_PATH = '/stats/prometheus?filter=^http\\..*\\.downstream_cx_active$';

/** Connections that are not a user's: of the admin page, statistics and health. */
const INTERNAL = new Set(['admin', 'envoy-admin', 'stats', 'health', 'stats-health']);

/** Sums the open connections of users; undefined when there is no such statistic. */
export function openConnections(text: string): number | undefined {
  let sum: number | undefined;
  for (const line of text.split('\n')) {
    const [, labels = '', value = ''] = /^envoy_http_downstream_cx_active\{([^}]*)\}\s+([0-9.eE+]+)/.exec(line) ?? [];
    if (value === '') continue;
    const prefix = /envoy_http_conn_manager_prefix="([^"]*)"/.exec(labels)?.[1] ?? '';
    if (!INTERNAL.has(prefix)) sum = (sum ?? 0) + Number(value);
  }
  return sum;
}
