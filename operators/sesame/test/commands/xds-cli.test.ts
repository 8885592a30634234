import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertReport } from '@capstan/testing';
import { parse } from 'yaml';
import { REPORT_SCHEMAS } from '../../src/commands/report-schemas.ts';
import { createResource } from '../../src/xds/index.ts';
import { cluster, createXdsStage, put } from '../../src/xds/xds.test-support.ts';
import { runCommand } from './command-io.ts';

suite('sesame cli', () => {
  test('prints the resources that are named, and ends', async (context) => {
    const { store, server } = await createXdsStage(context);
    put(store, cluster('a'), cluster('b'));
    const { code, out } = await runCommand(`cli cds b --sesame 127.0.0.1:${server.port}`);
    assert.equal(code, 0);
    const printed = JSON.parse(out) as { resources: { name: string }[] };
    assert.deepEqual(
      printed.resources.map(({ name }) => name),
      ['b'],
    );
  });

  test('prints every format, by the documented schema', async (context) => {
    const { store, server } = await createXdsStage(context);
    put(store, cluster('a'), cluster('b'));
    const run = async (format: string) =>
      (await runCommand(`cli cds --sesame 127.0.0.1:${server.port} -o ${format}`)).out;
    const report: unknown = JSON.parse(await run('json'));
    assertReport(REPORT_SCHEMAS['sesame cli'], report);
    assert.deepEqual(parse(await run('yaml')), report);
    assert.equal(await run('name'), 'cds/a\ncds/b\n');
    assert.equal(await run('table'), 'NAME  STATE\na     served\nb     served\n');
    assert.match(await run('wide'), /^a +served +\{.*"name":"a"/m);
  });

  test('shows no private key', async (context) => {
    const { store, server } = await createXdsStage(context);
    const value = { name: 'x', tls_certificate: { private_key: { inline_bytes: Buffer.from('very-secret') } } };
    put(store, createResource({ type: 'sds', name: 'x', value }));
    const { out } = await runCommand(`cli sds --delta --sesame 127.0.0.1:${server.port}`);
    assert.match(out, /\(not shown\)/);
    assert.ok(!out.includes(Buffer.from('very-secret').toString('base64')));
  });

  test('a server that is not there is reported, with what to check', async () => {
    const { code, err } = await runCommand('cli lds --sesame 127.0.0.1:1');
    assert.equal(code, 1);
    assert.match(
      err,
      /127\.0\.0\.1:1: the xDS server did not answer \(.*ECONNREFUSED.*\); check the address of --sesame/,
    );
  });

  test('a type that does not exist is a usage error that names the types', async () => {
    const { code, err } = await runCommand('cli xds');
    assert.equal(code, 2);
    assert.match(err, /needs a type \(lds, rds, cds, eds, sds, rtds\)/);
  });
});
