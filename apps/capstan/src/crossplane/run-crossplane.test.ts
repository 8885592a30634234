import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLAGS } from '@capstan/crossplane';
import { testIo } from '../cli/test-io.test-support.ts';
import { runCrossplane } from './run-crossplane.ts';

const run = async (line: string, env: Record<string, string> = {}) => {
  const { io, out, err } = testIo();
  const code = await runCrossplane(line === '' ? [] : line.split(' '), { ...io, env }, process.stdin);
  return { code, out: out(), err: err() };
};

test('help is that of the program, with every flag of core start', async () => {
  for (const line of ['--help', 'help', 'core --help']) {
    const { code, out } = await run(line);
    assert.equal(code, 0, line);
    assert.match(out, /^Usage: crossplane COMMAND[\s\S]*core start[\s\S]*xpkg build\|push\|inspect/);
  }
  assert.equal((await run('')).code, 2);
  const { code, out } = await run('core start --help');
  assert.equal(code, 0);
  for (const flag of [...Object.keys(FLAGS), 'leader-election', 'debug'])
    assert.ok(out.includes(`  --${flag}`), `--${flag} is not told`);
  assert.match((await run('core init --help')).out, /^Usage: crossplane core init/);
});

test('mistakes are told in the words of the program', async () => {
  const cases: [string, RegExp][] = [
    ['bogus', /^error: there is no command "bogus"; see crossplane --help\n$/],
    ['core start --bogus', /^error: crossplane core start has no flag --bogus; see crossplane core start --help\n$/],
    ['core start --package-runtime=Podman', /^error: --package-runtime cannot be "Podman"; .*Deployment or External/],
    ['core init --bogus', /^error: crossplane core init has no flag --bogus; see crossplane core init --help\n$/],
  ];
  for (const [line, message] of cases) {
    const { code, err } = await run(line);
    assert.equal(code, 2, line);
    assert.match(err, message);
  }
  const { err } = await run('core start', { PACKAGE_RUNTIME: 'Podman' });
  assert.match(err, /^error: PACKAGE_RUNTIME cannot be "Podman"; /);
});
