import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { createResource } from '../xds/index.ts';
import { cluster, createXdsStage, put } from '../xds/xds.test-support.ts';
import type { CommandIo } from './command-io.ts';
import { runSesameCommand } from './program.ts';

function recording(): { io: CommandIo; out: string[]; errors: string[] } {
  const out: string[] = [];
  const errors: string[] = [];
  const none = () => Promise.reject(new Error('not here'));
  const files = { read: none, stdin: none, write: none, exists: () => Promise.resolve(false), remove: none };
  const io: CommandIo = {
    stdout: (text) => void out.push(text),
    stderr: (text) => void errors.push(text),
    env: {},
    clock: systemClock,
    signal: new AbortController().signal,
    identity: 'test',
    files,
    openCluster: none,
  };
  return { io, out, errors };
}

suite('sesame cli', () => {
  test('prints the resources that are named, and ends', async (context) => {
    const { store, server } = await createXdsStage(context);
    put(store, cluster('a'), cluster('b'));
    const { io, out } = recording();
    const code = await runSesameCommand('cli', ['cds', 'b', '--sesame', `127.0.0.1:${server.port}`], io);
    assert.equal(code, 0);
    const printed = JSON.parse(out.join('')) as { resources: { name: string }[] };
    assert.deepEqual(
      printed.resources.map(({ name }) => name),
      ['b'],
    );
  });

  test('shows no private key', async (context) => {
    const { store, server } = await createXdsStage(context);
    const value = { name: 'x', tls_certificate: { private_key: { inline_bytes: Buffer.from('very-secret') } } };
    put(store, createResource({ type: 'sds', name: 'x', value }));
    const { io, out } = recording();
    await runSesameCommand('cli', ['sds', '--delta', '--sesame', `127.0.0.1:${server.port}`], io);
    assert.match(out.join(''), /\(not shown\)/);
    assert.ok(!out.join('').includes(Buffer.from('very-secret').toString('base64')));
  });

  test('a type that does not exist is a usage error that names the types', async () => {
    const { io, errors } = recording();
    assert.equal(await runSesameCommand('cli', ['xds'], io), 2);
    assert.match(errors.join(''), /needs a type \(lds, rds, cds, eds, sds, rtds\)/);
  });
});
