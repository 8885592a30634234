import type { ApiRequest, ApiResponse } from '@capstan/kube';

/** The Kubernetes whose API this is; the generated tables say the same. */
export const KUBERNETES_VERSION = '1.36.3';

const HEALTH = /^\/(healthz|livez|readyz)(\/ping)?\/?$/;

/** The version and the health of the server; undefined for any other path. */
export function about({ method, path }: ApiRequest, isClosed: boolean): ApiResponse | undefined {
  if (method !== 'GET') return undefined;
  if (path === '/version') return { status: 200, headers: { 'content-type': 'application/json' }, body: VERSION };
  if (!HEALTH.test(path)) return undefined;
  return {
    status: isClosed ? 500 : 200,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: isClosed ? 'closed' : 'ok',
  };
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
