import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@capstan/testing';
import { get, now, open, plugin } from './connect.test-support.ts';
import { connect } from './connect.ts';

// The plugin counts its runs in a file beside it, and prints `token-N` with the given tail and expiry.
const counting = (tail: string, status = '{}') => `
const file = __dirname + '/count';
const count = 1 + Number(fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : 0);
fs.writeFileSync(file, String(count));
console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential',
  status: { token: 'token-' + count + (count === 1 ? ${JSON.stringify(tail)} : ''), ...${status} } }));`;

test('an exec plugin is run once for many requests, again when its credentials expire', async (t) => {
  const clock = createVirtualClock({ start: now });
  const expiry = `{ expirationTimestamp: new Date(${now} + count * 60000).toISOString() }`;
  const { path } = await plugin(t, counting('', expiry));
  const connection = await open(t, { kubeconfig: path, clock });
  const ask = async () => (await connection.request(get)).body;
  const first = await Promise.all([ask(), ask(), ask()]);
  assert.deepEqual(
    first,
    Array.from({ length: 3 }, () => ({ login: 'Bearer token-1' })),
  );
  await clock.advance(59_999);
  assert.deepEqual(await ask(), { login: 'Bearer token-1' });
  await clock.advance(1);
  assert.deepEqual(await ask(), { login: 'Bearer token-2' });
});

test('an exec plugin is run again if the server refuses its credentials', async (t) => {
  const { path } = await plugin(t, counting('-refused'));
  const connection = await open(t, { kubeconfig: path });
  assert.deepEqual((await connection.request(get)).body, { login: 'Bearer token-2' });
});

test('an exec plugin gets its arguments, its environment and, on request, the cluster', async (t) => {
  const script = `
const { spec } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);
const token = [process.argv.slice(2).join('+'), process.env.REGION, spec.interactive, spec.cluster.server].join(',');
console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1beta1', kind: 'ExecCredential', status: { token } }));`;
  const { path, server } = await plugin(t, script, {
    apiVersion: 'client.authentication.k8s.io/v1beta1',
    args: ['a', 'b'],
    env: [{ name: 'REGION', value: 'eu' }],
    provideClusterInfo: true,
  });
  const connection = await open(t, { kubeconfig: path });
  assert.deepEqual((await connection.request(get)).body, { login: `Bearer a+b,eu,false,${server}` });
});

test('an exec plugin that is missing, fails or prints nonsense is reported in one sentence', async (t) => {
  const cases: [script: string, exec: Record<string, unknown>, message: RegExp][] = [
    [
      '',
      { command: 'no-such-plugin-here', installHint: 'Install it:\n  brew install it' },
      /exec plugin "no-such-plugin-here" of the user "me" in .* is not installed; Install it: brew install it$/,
    ],
    ['process.exit(3)', {}, /gave no credentials: it ended with exit code 3; run it by hand/],
    ['console.log("Bearer s3cret")', {}, /it did not print JSON/],
    [
      'console.log(JSON.stringify({ kind: "ExecCredential", apiVersion: "v7", status: { token: "s3cret" } }))',
      {},
      /it printed another apiVersion than client\.authentication\.k8s\.io\/v1/,
    ],
    [counting('', '{ token: "", x: "s3cret" }'), {}, /it printed neither a token nor a certificate/],
    [counting('', '{ clientKeyData: "s3cret" }'), {}, /it printed only one of certificate and key/],
    ['', { interactiveMode: 'Always' }, /asks for input, and there is no terminal/],
  ];
  for (const [script, exec, message] of cases) {
    const { path } = await plugin(t, script, exec);
    const connection = await open(t, { kubeconfig: path, isTerminal: false });
    await assert.rejects(connection.request(get), (error: Error) => {
      assert.equal(error.name, 'TransportError');
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /s3cret|\n/);
      return true;
    });
  }
});

test('closing the connection ends a hanging exec plugin', async (t) => {
  const { path } = await plugin(t, 'setInterval(() => {}, 1000)');
  const connection = await connect({ kubeconfig: path });
  const call = assert.rejects(connection.request(get), { kind: 'closed' });
  await connection.close();
  await call;
});
