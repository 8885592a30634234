import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { mergeKubeconfig, unmergeKubeconfig } from './merge-kubeconfig.ts';

const own = (server: string) => `apiVersion: v1
kind: Config
current-context: capstan
clusters:
- {name: capstan, cluster: {server: ${server}}}
- {name: east, cluster: {server: ${server}/clusters/east}}
contexts:
- {name: capstan, context: {cluster: capstan, user: capstan-admin}}
- {name: east, context: {cluster: east, user: capstan-admin}}
users:
- {name: capstan-admin, user: {client-key-data: a2V5}}
`;
const OTHER = `apiVersion: v1
kind: Config
# of the company
current-context: work
clusters:
- name: work
  cluster: {server: https://work.example}
contexts:
- name: work
  context: {cluster: work, user: me}
users:
- name: me
  user: {token: mine}
`;

async function file(t: TestContext, text?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-kubeconfig-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'deep', 'config');
  if (text !== undefined) {
    await writeFile(join(folder, 'config'), text, { mode: 0o600 });
    return join(folder, 'config');
  }
  return path;
}

describe('the contexts of a cluster in the kubeconfig of the user', () => {
  test('come beside what is there, and go without a trace', async (t) => {
    const path = await file(t, OTHER);
    const contexts = await mergeKubeconfig({ file: path, own: own('https://127.0.0.1:1'), data: '/d' });
    assert.deepEqual(contexts, ['capstan', 'capstan-east']);
    const merged = await readFile(path, 'utf8');
    assert.match(merged, /# of the company\ncurrent-context: capstan\n/);
    assert.match(merged, /token: mine/);
    assert.match(merged, /name: capstan-east\n {4}context:\n {6}cluster: capstan-east\n/);
    assert.equal(await unmergeKubeconfig(path, '/d'), true);
    assert.equal(
      (await readFile(path, 'utf8')).replaceAll(' ', ''),
      OTHER.replace('context: work', 'context: ""').replaceAll(' ', ''),
    );
    assert.equal(await unmergeKubeconfig(path, '/d'), false);
  });

  test('are replaced by the next start of the same cluster, and are in a new file that only its owner reads', async (t) => {
    const path = await file(t);
    await mergeKubeconfig({ file: path, own: own('https://127.0.0.1:1'), data: '/d' });
    await mergeKubeconfig({ file: path, own: own('https://127.0.0.1:2'), data: '/d' });
    const text = await readFile(path, 'utf8');
    assert.doesNotMatch(text, /127\.0\.0\.1:1\b/);
    assert.equal(text.match(/127\.0\.0\.1:2/g)?.length, 2);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  test('never replace an entry of another cluster', async (t) => {
    const path = await file(t, OTHER);
    await mergeKubeconfig({ file: path, own: own('https://127.0.0.1:1'), data: '/one' });
    const before = await readFile(path, 'utf8');
    await assert.rejects(
      mergeKubeconfig({ file: path, own: own('https://127.0.0.1:2'), data: '/two' }),
      /config has a cluster "capstan" already, which is not of this cluster; rename or remove it/,
    );
    assert.equal(await readFile(path, 'utf8'), before);
  });

  test('are not written into a file that cannot be read', async (t) => {
    const path = await file(t, 'a: [');
    await assert.rejects(mergeKubeconfig({ file: path, own: own('x'), data: '/d' }), /config cannot be changed: /);
    assert.equal(await readFile(path, 'utf8'), 'a: [');
  });
});
