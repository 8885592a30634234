import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCommandLine } from '@capstan/reconcile/command-line';
import { runTest } from './cli/test-io.test-support.ts';
import { COMMANDS } from './command-table.ts';

describe('help', () => {
  test('lists every command', async () => {
    const { code, out } = await runTest(['--help']);
    assert.equal(code, 0);
    for (const name of Object.keys(COMMANDS)) assert.match(out, new RegExp(`^  ${name} `, 'm'));
  });

  for (const name of Object.keys(COMMANDS)) {
    test(`capstan ${name} --help shows its usage and flags, and does nothing else`, async () => {
      const { code, out, err } = await runTest([name, '--help']);
      assert.equal(code, 0);
      assert.match(out, new RegExp(`^Usage: capstan ${name}`));
      assert.match(out, /--help/);
      assert.equal(err, '');
      const long = out.split('\n').filter((line) => line.length > 130);
      assert.deepEqual(long, [], 'lines fit a terminal');
    });
  }

  test('every example is a command line that is understood', async () => {
    let count = 0;
    for (const [name, { load }] of Object.entries(COMMANDS)) {
      const { default: command } = await load();
      if ('forward' in command) continue;
      for (const example of command.examples) {
        // Without the other programs of a pipe, and where the output goes.
        const [, line = ''] = /(?:^|\| |\()capstan ([^|>)]*)/.exec(example) ?? [];
        const [first, ...argv] = line.trim().split(/\s+/);
        assert.equal(first, name, example);
        assert.doesNotThrow(() => parseCommandLine(`capstan ${name}`, command, argv, {}), example);
        count++;
      }
    }
    assert.ok(count > 25, `${count} examples`);
  });

  test('nothing at all is answered with the help, and is not a success', async () => {
    const { code, out } = await runTest([]);
    assert.equal(code, 2);
    assert.match(out, /Usage: capstan COMMAND/);
  });
});

const mistakes: [line: string, expected: RegExp][] = [
  ['pln', /^error: there is no command "pln"; did you mean "plan"\?\n$/],
  ['constructor', /^error: there is no command "constructor"; see capstan --help\n$/],
  ['why --contxt a', /^error: capstan why has no flag --contxt; did you mean --context\?\n$/],
  ['why -x', /^error: capstan why has no flag -x; see capstan why --help\n$/],
  ['why', /^error: capstan why needs one object as KIND\/NAME; for example: /],
  ['why deployment', /^error: capstan why needs one object as KIND\/NAME; for example: /],
  ['why a b c', /^error: capstan why does not know what to do with "c"; see capstan why --help\n$/],
  ['why a/b --namespace', /^error: --namespace needs a value; give it as --namespace NAME\n$/],
  ['why a/b -n --context x', /^error: -n needs a value; give it as -n NAME\n$/],
  ['why a/b -o text', /^error: -o cannot be "text"; use one of table, wide, json, yaml, name\n$/],
  [
    'completion tcsh',
    /^error: capstan completion needs a shell \(bash, zsh, fish\); for example: capstan completion bash\n$/,
  ],
  ['plan', /^error: capstan plan needs manifests; for example: capstan plan -f change.yaml\n$/],
  ['plan -f x --timeout soon', /^error: --timeout cannot be "soon"; write a duration above 0, as in /],
  ['plan -f x --delete=maybe', /^error: --delete cannot be "maybe"; use --delete=true or --delete=false\n$/],
  ['run --health-address 8081', /^error: --health-address cannot be "8081"; write HOST:PORT, /],
  [
    'run --leader-elect-stale-limit 30s',
    /^error: --leader-elect-stale-limit cannot be "30s"; write a duration of at least/,
  ],
  ['run --leader-elect-retry-period 0s', /^error: --leader-elect-retry-period cannot be "0s"; write a duration/],
  [
    'crds --operators other',
    /^error: --operators names the operator "other", which is not loaded; use one of kroxylicious[a-z, ]*\n$/,
  ],
  [
    'crds --other.flag=1',
    /^error: --other.flag names the operator "other", which is not loaded; use one of kroxylicious[a-z, ]*\n$/,
  ],
  [
    'crds --kroxylicious.imag=x',
    /^error: the operator "kroxylicious" has no flag --kroxylicious\.imag; did you mean --kroxylicious\.image\?\n$/,
  ],
  ['crds --kroxylicious.quiet-period=soon', /^error: --kroxylicious\.quiet-period cannot be "soon"; use a duration/],
  [
    'up --listen here',
    /^error: --listen cannot be "here"; write HOST:PORT, as in 127\.0\.0\.1:6443, or :0 for any free port\n$/,
  ],
  ['up --listen :70000', /^error: --listen cannot be ":70000"; write HOST:PORT/],
  ['up --clusters ,', /^error: --clusters cannot be ","; name at least one\n$/],
  ['version --other.flag=1', /^error: capstan version has no flag --other.flag; see capstan version --help\n$/],
  ['-n x why', /^error: -n comes before the command; write the command first/],
];

describe('a mistake in the command', () => {
  for (const [line, expected] of mistakes) {
    test(`capstan ${line}: one sentence, exit code 2`, async () => {
      const { code, out, err } = await runTest(line.split(' '));
      assert.match(err, expected);
      assert.equal(code, 2);
      assert.equal(out, '');
    });
  }
});

describe('without any operator', () => {
  for (const name of ['run', 'status', 'crds', 'rbac']) {
    test(`capstan ${name} without any operator says how to load one`, async () => {
      const { code, err } = await runTest([name, '--operators', ',']);
      assert.equal(code, 1);
      assert.match(
        err,
        /^error: capstan \w+ has no operator to work with.*; load one with --operator FILE, as in .*\n$/,
      );
    });
  }
});

test('a stack is printed for bugs, and on request', async () => {
  const modules = {
    '/home/user/bad.ts': {
      default: {
        name: 'bad',
        reconcilers: [],
        kinds: [
          {
            crd() {
              throw new RangeError('a bug');
            },
          },
        ],
      },
    },
  };
  const bug = await runTest(['crds', '--operator', 'bad.ts'], { modules });
  assert.equal(bug.code, 1);
  assert.match(bug.err, /^error: a bug\nRangeError: a bug\n +at [^]*This is a bug in Capstan or in a loaded operator/);
  const asked = await runTest(['run', '-v', '--operators', ',']);
  assert.match(asked.err, /^error: .*\nCodedError: [^]* +at /);
});
