import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { flagDefaults, parseFlags } from '@capstan/reconcile/command-line';
import { createCrossplane } from '../operator.ts';
import { settingsOf } from '../settings.ts';
import { FLAGS, START_FLAGS } from './flags.ts';
import { PROGRAM } from './program.ts';

const settings = (given: Record<string, string>, env: Record<string, string> = {}) =>
  settingsOf(parseFlags(FLAGS, listed(given), env));
const listed = (given: Record<string, string>) =>
  Object.fromEntries(Object.entries(given).map(([flag, text]) => [flag, [text]]));

describe('flags', () => {
  test('become settings', () => {
    const created = settings({
      namespace: 'xp',
      'package-runtime': 'Provider=Deployment;Function=External',
      'enable-runtime-config': 'false',
      'poll-interval': '5m',
      'status-log-lines': '20',
      'provider-clusterrole': 'allowed',
      'sync-interval': '1h',
    });
    assert.equal(created.namespace, 'xp');
    assert.equal(created.packageRuntime.Function, 'External');
    assert.equal(created.runtimeConfig.isEnabled, false);
    assert.deepEqual([created.pollMs, created.statusLogLines, created.providerClusterRole], [300_000, 20, 'allowed']);
  });

  test('beat the environment, which stands in for them', () => {
    const env = { PACKAGE_RUNTIME: 'External', POD_NAMESPACE: 'from-env' };
    const created = settings({ namespace: 'given' }, env);
    assert.equal(created.namespace, 'given');
    assert.equal(created.packageRuntime.Provider, 'External');
    assert.throws(() => settings({}, { PACKAGE_RUNTIME: 'Podman' }), /PACKAGE_RUNTIME cannot be "Podman"; /);
  });

  test('know the stages of the feature', () => {
    const enabled = (flags: Record<string, string>) => settings(flags).runtimeConfig.isEnabled;
    assert.equal(enabled({}), true);
    assert.equal(enabled({ 'runtime-config-stage': 'alpha' }), false);
    assert.equal(enabled({ 'runtime-config-stage': 'alpha', 'enable-runtime-config': 'true' }), true);
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
    test(`--${flag}=${value} is refused with a remedy`, () => assert.throws(() => settings({ [flag]: value }), remedy));
});

describe('core start', () => {
  const runFlags = (given: Record<string, string>, env: Record<string, string> = {}) => {
    const values = parseFlags({ ...FLAGS, ...START_FLAGS }, listed(given), env);
    const flags = Object.entries(PROGRAM.runFlags?.(values) ?? {}).filter(([, value]) => value !== undefined);
    return Object.fromEntries(flags);
  };

  test('restricts itself to the namespace of its runtimes', () => {
    const namespaces = (name: string) => ({ namespace: name, 'watch-namespaces': name });
    assert.deepEqual(runFlags({}), namespaces('crossplane-system'));
    assert.deepEqual(runFlags({}, { POD_NAMESPACE: 'xp' }), namespaces('xp'));
    assert.deepEqual(runFlags({ namespace: 'mine' }, { POD_NAMESPACE: 'xp' }), namespaces('mine'));
  });

  test('has the flags of the original', () => {
    const {
      namespace: _namespace,
      'watch-namespaces': _watched,
      ...rest
    } = runFlags({
      'leader-election': 'false',
      'metrics-port': '9090',
      'health-probe-port': '9091',
      debug: 'true',
    });
    assert.deepEqual(rest, {
      'leader-elect': false,
      'metrics-address': ':9090',
      'health-address': ':9091',
      'log-level': 'debug',
    });
  });
});

test('a flag that has no effect in the stage GA is warned of at start', () => {
  const started = (flags: object) => createCrossplane().withFlags?.({ ...flagDefaults(FLAGS), ...flags } as never, {});
  const ga = { 'runtime-config-stage': 'GA', 'enable-runtime-config': false };
  assert.match(started(ga)?.warnings?.[0] ?? '', /^--enable-runtime-config=false has no effect/);
  assert.equal(started({})?.warnings, undefined);
});
