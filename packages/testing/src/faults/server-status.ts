// The answers of a server that refuses: the Status object of the Kubernetes API, with the fields that clients read.
import type { ApiResponse } from '@capstan/kube';

/** A refusal as a response; `retryAfterSeconds` goes into header and details as the real server's does. */
export function serverStatus(
  code: number,
  reason: string,
  message: string,
  retryAfterSeconds?: number,
): ApiResponse & { body: StatusObject } {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds);
  return {
    status: code,
    headers,
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `${message} (injected fault)`,
      reason,
      ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }),
      code,
    },
  };
}

/** 410: the version or the continue token is older than the server's history. */
export function expired(): ApiResponse & { body: StatusObject } {
  return serverStatus(410, 'Expired', 'too old resource version');
}

export interface StatusObject {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, never>;
  status: 'Failure';
  message: string;
  reason: string;
  details?: { retryAfterSeconds: number };
  code: number;
}
