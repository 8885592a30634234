import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectOptions } from '@capstan/kube/cluster';
import { connectWithHint } from './local-cluster-hint.ts';

for (const [what, exists, hint] of [
  [
    'the cluster of this folder is named',
    true,
    /give --kubeconfig FILE or set KUBECONFIG; for the cluster in this folder: export KUBECONFIG=\/project\/.capstan\/kubeconfig$/,
  ],
  ['the command that starts one is named', false, /set KUBECONFIG, or start a cluster on this machine: capstan up$/],
] as const)
  test(`where no cluster is configured, ${what}`, () =>
    assert.rejects(
      connectWithHint(
        { env: { HOME: '/nowhere' } },
        { cwd: '/project', read: () => Promise.resolve(exists ? '' : undefined) },
      ),
      (error: Error) => hint.test(error.message) && /no cluster is configured/.test(error.message),
    ));

test('other errors stay as they are', () =>
  assert.rejects(
    connectWithHint({ env: {}, kubeconfig: '/nowhere/config' }, { cwd: '/project', read: () => Promise.resolve('') }),
    (error: Error) => !/\.capstan/.test(error.message),
  ));

/** Nothing listens there. */
const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: east
contexts: [{ name: east, context: { cluster: east, user: admin } }]
clusters:
  - name: east
    cluster:
      server: https://127.0.0.1:1/clusters/east
users: [{ name: admin, user: { token: none } }]
`;

async function requestTo(files: Readonly<Record<string, string>>, options: ConnectOptions): Promise<unknown> {
  const readFile = (path: string) => Promise.resolve(files[path] ?? '');
  const transport = await connectWithHint(
    { ...options, readFile },
    { cwd: '/project', read: (path) => Promise.resolve(files[path]) },
  );
  try {
    return await transport.request({ method: 'GET', path: '/version' });
  } finally {
    await transport.close();
  }
}

for (const [where, options] of [
  ['beside the kubeconfig', { env: { KUBECONFIG: '/data/kubeconfig' } }],
  ['beside the kubeconfig of the flag', { env: {}, kubeconfig: '/data/kubeconfig' }],
] as const)
  test(`a request to a cluster of this machine that was stopped names the command that starts it (${where})`, () =>
    assert.rejects(
      requestTo({ '/data/kubeconfig': KUBECONFIG, '/data/lock': '' }, options),
      /^TransportError: cannot connect to https:\/\/127\.0\.0\.1:1\S*: the connection was refused; the cluster in \/data does not run: capstan up --data \/data starts it again$/,
    ));

test('a request to another cluster that refuses connections names no command', async () => {
  const env = { KUBECONFIG: '/data/kubeconfig' };
  const other = KUBECONFIG.replace(':1/', ':2/');
  await assert.rejects(requestTo({ '/data/kubeconfig': KUBECONFIG }, { env }), /check that the API server is running/);
  await assert.rejects(
    requestTo(
      { '/data/kubeconfig': other, '/project/.capstan/kubeconfig': KUBECONFIG, '/project/.capstan/lock': '' },
      { env },
    ),
    /check that the API server is running/,
  );
});
