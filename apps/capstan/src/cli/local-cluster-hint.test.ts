import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectWithHint } from './local-cluster-hint.ts';

for (const [what, exists, hint] of [
  [
    'the cluster of this folder is named',
    true,
    /give --kubeconfig FILE or set KUBECONFIG; for the cluster in this folder: export KUBECONFIG=\/work\/.capstan\/kubeconfig$/,
  ],
  ['the command that starts one is named', false, /set KUBECONFIG, or start a cluster on this machine: capstan up$/],
] as const)
  test(`where no cluster is configured, ${what}`, () =>
    assert.rejects(
      connectWithHint({ env: { HOME: '/nowhere' } }, { cwd: '/work', exists: () => Promise.resolve(exists) }),
      (error: Error) => hint.test(error.message) && /no cluster is configured/.test(error.message),
    ));

test('other errors stay as they are', () =>
  assert.rejects(
    connectWithHint({ env: {}, kubeconfig: '/nowhere/config' }, { cwd: '/work', exists: () => Promise.resolve(true) }),
    (error: Error) => !/\.capstan/.test(error.message),
  ));
