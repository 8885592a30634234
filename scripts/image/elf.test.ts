import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { withoutSections } from './elf.ts';

describe('a program without its sections', {
  skip: process.platform !== 'linux' && 'ELF programs run on Linux',
}, () => {
  test('is smaller, and runs as before', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-elf-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const whole = readFileSync(process.execPath);
    const kept = withoutSections(whole);
    assert.ok(kept.length < whole.length, `${kept.length} of ${whole.length} bytes are kept`);
    const program = join(folder, 'node');
    writeFileSync(program, kept, { mode: 0o755 });
    const script = 'console.log(process.version, await WebAssembly.validate(new Uint8Array([0,97,115,109,1,0,0,0])))';
    const output = execFileSync(program, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
    assert.equal(output, `${process.version} true\n`);
  });

  test('is taken from nothing else than a whole program', () => {
    assert.throws(() => withoutSections(Buffer.from('#!/bin/sh\n')), /no ELF program/);
    const whole = readFileSync(process.execPath);
    assert.throws(() => withoutSections(whole.subarray(0, 1_000_000)), /cut short/);
  });
});
