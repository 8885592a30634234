import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';

const MAIN = new URL('main.ts', import.meta.url);

describe('the program', () => {
  const cases: [argv: string[], code: number, out: RegExp, err: RegExp][] = [
    [['--help'], 0, /^Capstan turns[^]*Commands:/, /^$/],
    [['version'], 0, /^capstan \d+\.\d+\.\d+ \(Node\.js 2\d/, /^$/],
    [['nonsense'], 2, /^$/, /^error: there is no command "nonsense"; see capstan --help\n$/],
    [
      ['up', '--clusters', 'Big'],
      1,
      /^$/,
      // On a slow machine there are lines of progress before the error, and none after it.
      /^(?:\S.* \.\.\..*\n)*error: a logical cluster cannot be named "Big"; use lower-case letters.*\n$/,
    ],
  ];
  for (const [argv, code, out, err] of cases) {
    test(`capstan ${argv.join(' ')} ends with ${code}`, async () => {
      const ran = await run(argv);
      assert.match(ran.err, err);
      assert.match(ran.out, out);
      assert.equal(ran.code, code);
    });
  }

  test('loads neither the client nor the runtime before a command needs them: help answers at once', () => {
    const seen = new Set<string>();
    const visit = (file: URL) => {
      if (seen.has(file.href)) return;
      seen.add(file.href);
      for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/^import (?!type )[^;]*?from '([^']+)';/gm)) {
        if (from.startsWith('.')) visit(new URL(from, file));
        else assert.match(from, /^node:/, `${file.pathname.replace(/.*\/src\//, '')} imports ${from} at the start`);
      }
    };
    visit(MAIN);
    assert.ok([...seen].some((file) => file.endsWith('/src/cli.ts')));
  });
});

function run(argv: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN.pathname, ...argv]);
    const printed = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => (printed.out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (printed.err += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...printed }));
  });
}
