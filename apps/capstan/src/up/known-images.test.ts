import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findImage } from '@capstan/node';
import { knownImages } from './known-images.ts';

const PROXY = 'quay.io/kroxylicious/proxy:0.23.0';

test('the proxy’s image is run as what setup:real brought, and is unknown without it', (t) => {
  const real = mkdtempSync(join(tmpdir(), 'capstan-real-'));
  t.after(() => rmSync(real, { recursive: true }));
  const entrypoint = () => findImage(knownImages({ CAPSTAN_REAL: real }), PROXY)?.entrypoint;
  assert.equal(entrypoint(), undefined);
  const folder = join(real, 'kroxylicious');
  mkdirSync(join(folder, 'java', 'bin'), { recursive: true });
  writeFileSync(join(folder, 'proxy.json'), JSON.stringify({ version: '1', main: 'Main' }));
  assert.equal(entrypoint(), undefined, 'without its Java it cannot run');
  writeFileSync(join(folder, 'java', 'bin', 'java'), '');
  assert.equal(entrypoint()?.[0], join(folder, 'java', 'bin', 'java'));
  assert.equal(entrypoint()?.at(-1), 'Main');
});
