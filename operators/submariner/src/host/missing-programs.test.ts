import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { INSTALLED_PROGRAMS } from './host.ts';
import { missingProgram, requirePrograms } from './missing-programs.ts';

test('a program is found on the path or by its own path, and only where it can be executed', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'submariner-programs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'wg');
  const path = `/no/such/folder:${folder}`;
  assert.equal(missingProgram(INSTALLED_PROGRAMS, 'wg', path), 'wg');
  writeFileSync(file, '#!/bin/sh\n', { mode: 0o644 });
  assert.equal(missingProgram(INSTALLED_PROGRAMS, 'wg', path), 'wg');
  chmodSync(file, 0o755);
  assert.equal(missingProgram(INSTALLED_PROGRAMS, 'wg', path), undefined);
  assert.equal(missingProgram({ ...INSTALLED_PROGRAMS, wg: [file] }, 'wg', ''), undefined);
});

test('a driver names the program that it lacks and the image that has it', () => {
  const programs = { ...INSTALLED_PROGRAMS, ip: [process.execPath], charon: ['/no/such/charon'] };
  assert.throws(
    () => requirePrograms(programs, 'ipsec'),
    /the program \/no\/such\/charon is not installed.*capstan-gateway/,
  );
  assert.doesNotThrow(() => requirePrograms(programs, 'none'));
});
