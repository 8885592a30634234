import type { ApiRequest, ApiResponse } from '@capstan/kube';

/** The Kubernetes whose API this is; the generated tables say the same. */
export const KUBERNETES_VERSION = '1.36.3';

const HEALTH = /^\/(healthz|livez|readyz)(\/ping)?\/?$/;

/** The version and the health of the server; undefined for any other path. */
export function about({ method, path, query }: ApiRequest, isClosed: boolean): ApiResponse | undefined {
  if (method !== 'GET') return undefined;
  if (path === '/version' || path === '/version/')
    return { status: 200, headers: { 'content-type': 'application/json' }, body: VERSION };
  const [, check, single] = HEALTH.exec(path) ?? [];
  if (check === undefined) return undefined;
  const isVerbose = query?.['verbose'] !== undefined && single === undefined;
  return {
    status: isClosed ? 500 : 200,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    body: isVerbose || (isClosed && single === undefined) ? report(check, isClosed) : isClosed ? 'closed' : 'ok',
  };
}

/** One line a check, as kube-apiserver writes them. */
function report(check: string, isClosed: boolean): string {
  const lines = ['[+]ping ok', '[+]log ok', isClosed ? '[-]storage failed: reason withheld' : '[+]storage ok'];
  return `${lines.join('\n')}\n${check} check ${isClosed ? 'failed' : 'passed'}\n`;
}

const [major, minor] = KUBERNETES_VERSION.split('.');

const VERSION = {
  major,
  minor,
  gitVersion: `v${KUBERNETES_VERSION}+capstan`,
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: `${process.platform}/${process.arch}`,
};
