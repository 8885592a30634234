import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { settingsFromFlags } from './flags.ts';
import { requestOf, startArguments } from './program.ts';

describe('flags', () => {
  test('become settings', () => {
    const settings = settingsFromFlags({
      namespace: 'xp',
      'package-runtime': 'Provider=Deployment;Function=External',
      'enable-runtime-config': 'false',
      'poll-interval': '5m',
      'status-log-lines': '20',
      'provider-clusterrole': 'allowed',
      'sync-interval': '1h',
    });
    assert.ok(!('fault' in settings));
    assert.equal(settings.namespace, 'xp');
    assert.equal(settings.packageRuntime?.Function, 'External');
    assert.equal(settings.runtimeConfig?.isEnabled, false);
    assert.deepEqual(
      [settings.pollMs, settings.statusLogLines, settings.providerClusterRole],
      [300_000, 20, 'allowed'],
    );
  });

  test('beat the environment, which stands in for them', () => {
    const env = { PACKAGE_RUNTIME: 'External', POD_NAMESPACE: 'from-env' };
    const settings = settingsFromFlags({ namespace: 'given' }, env);
    assert.ok(!('fault' in settings));
    assert.equal(settings.namespace, 'given');
    assert.equal(settings.packageRuntime?.Provider, 'External');
  });

  test('know the stages of the feature', () => {
    const enabled = (flags: Record<string, string>) => {
      const settings = settingsFromFlags(flags);
      return 'fault' in settings ? undefined : settings.runtimeConfig?.isEnabled;
    };
    assert.equal(enabled({}), true);
    assert.equal(enabled({ 'runtime-config-stage': 'alpha' }), false);
    assert.equal(enabled({ 'runtime-config-stage': 'alpha', 'enable-deployment-runtime-configs': 'true' }), true);
    assert.equal(enabled({ 'runtime-config-stage': 'GA', 'enable-runtime-config': 'false' }), true);
  });

  const wrong: [string, string, RegExp][] = [
    ['package-runtime', 'Podman', /Deployment or External/],
    ['enable-runtime-config', 'perhaps', /true or false/],
    ['runtime-config-stage', 'gamma', /alpha, beta, GA/],
    ['poll-interval', 'soon', /duration/],
    ['status-log-lines', '-1', /number/],
    ['namespace', 'A_b', /DNS name/],
    ['registry', 'https://x', /host/],
    ['crossplane-version', 'new', /version/],
  ];
  for (const [flag, value, remedy] of wrong)
    test(`--${flag}=${value} is refused with a remedy`, () => {
      const found = settingsFromFlags({ [flag]: value });
      assert.ok('fault' in found && found.fault.flag === flag);
      assert.match(found.fault.remedy ?? '', remedy);
    });

  test('that do not exist are told as such', () => {
    assert.deepEqual(settingsFromFlags({ nonsense: '1' }), { fault: { flag: 'nonsense', remedy: undefined } });
  });
});

describe('the program crossplane', () => {
  test('knows its own commands and passes on the others', () => {
    const cases: [string[], string, string[]][] = [
      [['core', 'start', '--debug'], 'start', ['--debug']],
      [['core', 'init'], 'init', []],
      [['xpkg', 'build', '-f', '.'], 'xpkg', ['build', '-f', '.']],
      [['convert', 'deployment-runtime', '-'], 'convert', ['deployment-runtime', '-']],
      [['beta', 'convert', 'deployment-runtime'], 'convert', ['deployment-runtime']],
      [['version'], 'capstan', ['version']],
      [['why', 'deployment/x'], 'capstan', ['why', 'deployment/x']],
      [[], 'help', []],
      [['--help'], 'help', ['--help']],
      [['core', '-h'], 'help', ['-h']],
    ];
    for (const [argv, what, rest] of cases) assert.deepEqual(requestOf(argv), { what, argv: rest });
  });

  test('starts by the words of upstream', () => {
    assert.deepEqual(startArguments([], {}), [
      'run',
      '--operators',
      'crossplane',
      '--namespace',
      'crossplane-system',
      '--watch-namespaces',
      'crossplane-system',
    ]);
    assert.deepEqual(
      startArguments(
        [
          '--package-runtime',
          'External',
          '--enable-runtime-config',
          '--leader-election=false',
          '--metrics-port',
          '9090',
          '-d',
          '--install-crds',
        ],
        { POD_NAMESPACE: 'xp' },
      ),
      [
        'run',
        '--operators',
        'crossplane',
        '--crossplane.package-runtime=External',
        '--crossplane.enable-runtime-config=true',
        '--leader-elect=false',
        '--metrics-address=:9090',
        '--log-level=debug',
        '--install-crds',
        '--namespace',
        'xp',
        '--watch-namespaces',
        'xp',
      ],
    );
    assert.deepEqual(startArguments(['--namespace=mine'], {}).slice(3), [
      '--crossplane.namespace=mine',
      '--namespace',
      'mine',
      '--watch-namespaces',
      'mine',
    ]);
  });
});
