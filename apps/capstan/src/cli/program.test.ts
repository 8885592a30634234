import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FLAGS, START_FLAGS } from '@capstan/crossplane';
import { ConfigMap, systemClock } from '@capstan/kube';
import { apply, type Operator, operator, plan, reconciler } from '@capstan/reconcile';
import { createRandom, createTestCluster } from '@capstan/testing';
import { Site, sites } from '../commands/sites.test-support.ts';
import { type Program, runProgram } from './program.ts';
import { testIo } from './test-io.test-support.ts';

const PROGRAMS: Readonly<Record<string, Program>> = {
  crossplane: { name: 'crossplane', load: () => import('@capstan/crossplane') },
  gimbal: {
    name: 'gimbal',
    load: () => import('@capstan/gimbal'),
    besides: { discover: { arguments: 'TYPE', summary: 'Run a discoverer' } },
  },
  kroxylicious: { name: 'kroxylicious', load: () => import('@capstan/kroxylicious') },
  sesame: { name: 'sesame', load: () => import('@capstan/sesame') },
};

const run = async (line: string, env: Record<string, string> = {}) => {
  const { io, out, err } = testIo({ env });
  const [name = '', ...argv] = line.split(' ');
  const program = PROGRAMS[name];
  assert.ok(program);
  const code = await runProgram(program, argv, io);
  return { code, out: out(), err: err() };
};

describe('a program of an operator', () => {
  const helps: [line: string, code: number, expected: RegExp][] = [
    ['crossplane', 2, /^Usage: crossplane COMMAND/],
    ['crossplane --help', 0, /core start .*\n.*core init[^]*xpkg build\|push\|inspect[^]*Capstan's: crossplane why/],
    ['crossplane help', 0, /^Usage: crossplane COMMAND/],
    [
      'crossplane core --help',
      0,
      /^Usage: crossplane COMMAND[^]*Commands:\n  core start .*\n  core init .*\n  core allow .*\n\n/,
    ],
    ['crossplane beta', 2, /Commands:\n  beta trace .*\n  beta convert .*\n\n/],
    ['crossplane core init --help', 0, /^Usage: crossplane core init[^]*--runtime-config-stage alpha\|beta\|GA/],
    ['crossplane convert --help', 0, /deployment-runtime/],
    ['crossplane why --help', 0, /^Usage: crossplane why/],
    ['gimbal --help', 0, /operator .*\n[^]*drain NAME[^]*rbac remote TYPE[^]*discover TYPE/],
    ['gimbal drain --help', 0, /^Usage: gimbal drain NAME[^]*--timeout DURATION .*default 5m/],
    ['gimbal operator --help', 0, /^Usage: gimbal operator[^]*--write-endpoints .*default false[^]*--install-crds/],
    ['gimbal rbac local', 0, /kind: (Cluster)?Role/],
    ['gimbal rbac --help', 0, /^Usage: gimbal COMMAND/],
    ['sesame --help', 0, /operator .*\n[^]*serve .*\n[^]*migrate config \[FILE\|-\][^]*envoy shutdown-manager/],
    ['sesame operator --help', 0, /^Usage: sesame operator[^]*--envoy-image IMAGE[^]*--install-crds/],
    ['sesame serve --help', 0, /^Usage: sesame serve[^]*--sesame-config NAME .*Also --Sesame-config/],
    ['sesame migrate config --help', 0, /^Usage: sesame migrate config[^]*--to resource\|file .*default resource/],
    ['kroxylicious operator -h', 0, /--quiet-period DURATION .*default 2s[^]*--leader-elect /],
  ];
  for (const [line, code, expected] of helps)
    test(`answers "${line}"`, async () => {
      const ran = await run(line);
      assert.match(ran.out, expected);
      assert.equal(ran.code, code);
      assert.deepEqual(
        ran.out.split('\n').filter((text) => text.length > 130),
        [],
        'lines fit a terminal',
      );
    });

  test('lists every flag of crossplane core start', async () => {
    const { out } = await run('crossplane core start --help');
    for (const flag of Object.keys({ ...FLAGS, ...START_FLAGS })) assert.ok(out.includes(`--${flag}`), `--${flag}`);
    assert.match(out, /--enable-deployment-runtime-configs/, 'the original’s other name');
    assert.match(out, /PACKAGE_RUNTIME in the environment/);
  });

  const mistakes: [line: string, expected: RegExp][] = [
    ['crossplane bogus', /^error: there is no command "bogus"; see crossplane --help\n$/],
    ['gimbal drian east', /^error: there is no command "drian"; did you mean "drain"\?\n$/],
    ['crossplane core strat', /^error: there is no command "core"; did you mean "core start"\?\n$/],
    [
      'gimbal rbac remote',
      /^error: gimbal rbac remote needs a type of backend \(kubernetes, openstack\); for example: /,
    ],
    [
      'crossplane core start --bogus',
      /^error: crossplane core start has no flag --bogus; see crossplane core start --help\n$/,
    ],
    [
      'crossplane core start --package-runtime=Podman',
      /^error: --package-runtime cannot be "Podman"; .*Deployment or External/,
    ],
    [
      'crossplane core init --bogus',
      /^error: crossplane core init has no flag --bogus; see crossplane core init --help\n$/,
    ],
    ['gimbal drain', /^error: gimbal drain needs the name of a backend; for example: gimbal drain east\n$/],
    ['gimbal drain a b', /^error: gimbal drain does not know what to do with "b"; see gimbal drain --help\n$/],
    ['gimbal rotate a --secret A_b', /^error: --secret cannot be "A_b"; give the name of a Secret: /],
    ['kroxylicious operator --imag x', /^error: kroxylicious operator has no flag --imag; did you mean --image\?\n$/],
    ['kroxylicious why', /^error: kroxylicious why needs one object/],
  ];
  for (const [line, expected] of mistakes)
    test(`refuses "${line}" under its own name`, async () => {
      const { code, err } = await run(line);
      assert.match(err, expected);
      assert.equal(code, 2);
    });

  test('refuses a value of the environment by the name of its variable', async () => {
    const { err } = await run('crossplane core start', { PACKAGE_RUNTIME: 'Podman' });
    assert.match(err, /^error: PACKAGE_RUNTIME cannot be "Podman"; /);
  });

  test('runs its operator with its own flags beside those of capstan run', async (t) => {
    const cluster = await createTestCluster({ clock: systemClock, random: createRandom(1) });
    const stopping = new AbortController();
    t.after(() => cluster.close());
    t.after(() => stopping.abort());
    const named = (name: string): Operator =>
      operator({
        name: 'sites',
        kinds: sites.kinds,
        reconcilers: [
          reconciler({
            name: 'site',
            resource: Site,
            writes: [ConfigMap],
            reconcile: ({ object: { metadata } }) =>
              plan({ children: [apply(ConfigMap, { metadata: { name, namespace: `${metadata.namespace}` } })] }),
          }),
        ],
        flags: { child: { type: 'string', short: 'c', default: 'by-default', help: 'The name of the child.' } },
        withFlags: ({ child }) => named(child),
        program: {
          run: 'serve',
          flags: { quiet: { type: 'boolean', help: 'Log less.' } },
          runFlags: ({ quiet, child }) => ({ 'log-level': quiet ? 'error' : undefined, namespace: `of-${child}` }),
        },
      });
    const { io, out, err } = testIo({ transport: cluster.transport, signal: stopping.signal });
    const program: Program = { name: 'sites', load: async () => ({ default: named('by-default') }) };
    const ended = runProgram(program, ['serve', '-c', 'given', '--quiet', '--install-crds', '-o', 'json'], io);
    const deadline = systemClock.now() + 10_000;
    const tick = () => new Promise<void>((resolve) => void systemClock.after(5, resolve));
    while (!out().includes('"ready"')) {
      assert.ok(systemClock.now() < deadline, err());
      await tick();
    }
    assert.match(out(), /^\{"event":"started",.*"namespace":"of-given"/);
    const metadata = { namespace: 'default', name: 'home' };
    await cluster.client.create(Site, { apiVersion: Site.apiVersion, kind: Site.kind, metadata, spec: { text: 'x' } });
    while ((await cluster.client.find(ConfigMap, { namespace: 'default', name: 'given' })) === undefined) {
      assert.ok(systemClock.now() < deadline, err());
      await tick();
    }
    stopping.abort();
    assert.equal(await ended, 0);
    assert.equal(err(), '', 'quiet means errors alone');
  });
});
