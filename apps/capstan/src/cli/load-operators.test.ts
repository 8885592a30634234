import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ConfigMap, Secret } from '@capstan/kube';
import { type Operator, operator, plan, reconciler } from '@capstan/reconcile';
import { duration } from '@capstan/reconcile/command-line';
import { runCommandLine } from '../cli.ts';
import { runTest, testIo } from './test-io.test-support.ts';

const named = (name: string): Operator =>
  operator({
    name,
    kinds: [],
    reconcilers: [reconciler({ name: 'it', resource: ConfigMap, reads: [Secret], reconcile: () => plan() })],
  });

const modules = {
  '/home/user/a.ts': { default: named('a') },
  '/home/user/b.ts': { operator: named('b') },
  '/home/user/same.ts': { default: named('a') },
  '/home/user/none.ts': { something: 1 },
};

const rbac = async (...argv: string[]) => {
  const { code, out, err } = await runTest(['rbac', '-o', 'json', ...argv], { modules });
  const accounts =
    out === ''
      ? []
      : (JSON.parse(out) as { items: { kind: string; metadata: { name: string } }[] }).items
          .filter(({ kind }) => kind === 'ServiceAccount')
          .map(({ metadata }) => metadata.name);
  return { code, err, accounts };
};

describe('operators', () => {
  test('are loaded from modules, by their default export or by name', async () => {
    const { code, accounts } = await rbac('--operator', 'a.ts', '--operator', './b.ts');
    assert.equal(code, 0);
    assert.deepEqual(accounts, ['capstan-a', 'capstan-b']);
  });

  test('are chosen by name', async () => {
    const { accounts } = await rbac('--operator', 'a.ts', '--operator', 'b.ts', '--operators', 'b');
    assert.deepEqual(accounts, ['capstan-b']);
  });

  test('get their flags by their name before a dot', async () => {
    const seen: unknown[] = [];
    const flagged = operator({
      name: 'c',
      kinds: [],
      reconcilers: named('c').reconcilers,
      flags: {
        'package-runtime': { type: 'string', default: 'Deployment', help: 'Who runs it.' },
        'quiet-period': { type: 'string', value: 'DURATION', parse: duration({ remedy: 'use 2s' }), help: 'How long.' },
        debug: { type: 'boolean', default: false, env: 'C_DEBUG', help: 'More.' },
        zone: { type: 'string', aliases: ['region'], multiple: true, help: 'Where.' },
      },
      withFlags(values) {
        const { 'package-runtime': runtime, 'quiet-period': quiet, debug, zone } = values;
        seen.push({ runtime: runtime.length, quiet: quiet?.toFixed(), debug: debug satisfies boolean, zone });
        return named('c');
      },
    });
    const run = (...argv: string[]) =>
      runTest(['rbac', '--operator', 'c.ts', ...argv], {
        modules: { '/home/user/c.ts': { default: flagged } },
        env: { C_DEBUG: 'true' },
      });
    const given = ['--c.package-runtime=External', '--c.quiet-period=1m', '--c.region=a', '--c.region=b'];
    assert.equal((await run(...given)).code, 0);
    assert.equal((await run('--c.debug=false')).code, 0);
    assert.deepEqual(seen, [
      { runtime: 8, quiet: '60000', debug: true, zone: ['a', 'b'] },
      { runtime: 10, quiet: undefined, debug: false, zone: undefined },
    ]);
    const { err } = await run('--c.debgu');
    assert.match(err, /^error: the operator "c" has no flag --c\.debgu; did you mean --c\.debug\?\n$/);
    const { out } = await run('--help');
    assert.match(out, /Flags of c:\n {6}--c\.package-runtime VALUE +Who runs it; default Deployment\./);
    assert.match(out, /--c\.debug +More; default false\. Also C_DEBUG in the environment\./);
  });

  const refused: [argv: string[], code: number, expected: RegExp][] = [
    [['--operator', 'gone.ts'], 1, /cannot load the operator gone.ts: there is no such file; check the path/],
    [['--operator', 'none.ts'], 1, /the module none.ts exports no operator; export operator/],
    [['--operator', 'a.ts', '--operator', 'same.ts'], 1, /two operators are named "a"; give one of them another name/],
    [
      ['--operator', 'a.ts', '--operators', 'a,x'],
      2,
      /--operators names the operator "x", which is not loaded; use one of kroxylicious[a-z, ]*, a/,
    ],
    [['--operator', 'a.ts', '--aa.flag=1'], 2, /--aa.flag names the operator "aa", which is not loaded; use one of a/],
    [['--operator', 'a.ts', '--a.flag=1'], 2, /the operator "a" takes no flags, and --a.flag was given/],
  ];
  for (const [argv, code, expected] of refused) {
    test(`capstan rbac ${argv.join(' ')} is refused in one sentence`, async () => {
      const ran = await rbac(...argv);
      assert.match(ran.err, expected);
      assert.equal(ran.err.trimEnd().split('\n').length, 1);
      assert.equal(ran.code, code);
    });
  }
});

for (const [what, file, text, expected] of [
  [
    'in node_modules',
    'node_modules/x/operator.ts',
    'export const a: number = 1;',
    /; copy it into a folder of your own: /,
  ],
  [
    'in a package of CommonJS',
    'operator.ts',
    "import 'node:fs';",
    /; name it FILE\.mts, or set "type": "module" in its package\.json/,
  ],
  [
    'without the library beside it',
    'operator.mts',
    "import '@capstan/kube';",
    /; install the library beside it: npm install @capstan\/kube/,
  ],
] as const)
  test(`the error of an operator ${what} names the remedy`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-operator-'));
    t.after(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
    writeFileSync(join(folder, file), text);
    const { io, err } = testIo({});
    const importModule = (path: string) => import(pathToFileURL(path).href) as Promise<Record<string, unknown>>;
    const code = await runCommandLine(['rbac', '--operator', join(folder, file)], { ...io, importModule });
    assert.equal(code, 1);
    assert.match(err(), expected);
  });
