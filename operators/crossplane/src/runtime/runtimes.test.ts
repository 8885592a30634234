import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePackageRuntime, RUNTIMES, resolveConfigReference } from './runtimes.ts';

const all = (runtime: string) => ({ Provider: runtime, Function: runtime, Configuration: runtime });
const deployments = all('Deployment');

for (const [text, wanted] of [
  ['', deployments],
  ['Deployment', deployments],
  ['External', all('External')],
  [' External ', all('External')],
  ['Provider=Deployment', deployments],
  ['Provider=Deployment;Function=External', { ...deployments, Function: 'External' }],
  ['Provider=Deployment,Function=External', { ...deployments, Function: 'External' }],
  ['Provider=External;Function=External;Configuration=Deployment', { ...all('External'), Configuration: 'Deployment' }],
  [' Provider = External ; Function = Deployment ', { ...deployments, Provider: 'External' }],
  ['Function=External', { ...deployments, Function: 'External' }],
  ['Provider=Deployment;Provider=External', { ...deployments, Provider: 'External' }],
] as const) {
  test(`--package-runtime=${JSON.stringify(text)} is understood`, () => {
    assert.deepEqual(parsePackageRuntime(text), wanted);
  });
}

for (const [text, named] of [
  ['Provider', '"Provider"'],
  ['deployment', '"deployment"'],
  ['ProviderDeployment', '"ProviderDeployment"'],
  ['Provider=Deployment=Extra', '"Provider=Deployment=Extra"'],
  ['UnknownKind=Deployment', '"UnknownKind"'],
  ['Provider=UnknownRuntime', '"UnknownRuntime"'],
  ['Provider=Deployment;UnknownKind=External', '"UnknownKind"'],
  ['=Deployment', '""'],
  ['Provider=', '""'],
  ['Provider=Deployment;', '""'],
  ['toString', '"toString"'],
] as const) {
  test(`--package-runtime=${JSON.stringify(text)} is refused with the choices`, () => {
    const parsed = parsePackageRuntime(text);
    assert.ok('fault' in parsed);
    assert.ok(parsed.fault.includes(named), parsed.fault);
    assert.match(parsed.fault, /use Deployment or External, or KIND=RUNTIME/);
  });
}

test('a reference that is left out, or left incomplete, means the default of the runtime’s kind', () => {
  const config = (apiVersion: string, name: string) => ({
    config: { apiVersion, kind: 'DeploymentRuntimeConfig', name },
  });
  const resolve = (ref: Parameters<typeof resolveConfigReference>[1]) =>
    resolveConfigReference(RUNTIMES.Deployment, ref, 'beta');
  assert.deepEqual(resolve(undefined), config('pkg.crossplane.io/v1beta1', 'default'));
  assert.deepEqual(resolve({ name: 'mine' }), config('pkg.crossplane.io/v1beta1', 'mine'));
  for (const version of ['v1alpha1', 'v1beta1', 'v1']) {
    const apiVersion = `pkg.crossplane.io/${version}`;
    assert.deepEqual(
      resolve({ apiVersion, kind: 'DeploymentRuntimeConfig', name: 'mine' }),
      config(apiVersion, 'mine'),
    );
  }
});

test('a foreign kind, group or version is refused by the Deployment runtime, each by itself', () => {
  for (const ref of [
    { apiVersion: 'pkg.example.org/v1', kind: 'CloudRunRuntimeConfig', name: 'default' },
    { kind: 'CloudRunRuntimeConfig', name: 'default' },
    { apiVersion: 'pkg.example.org/v1', name: 'default' },
    { apiVersion: 'pkg.crossplane.io/v9', name: 'default' },
  ]) {
    const resolved = resolveConfigReference(RUNTIMES.Deployment, ref, 'beta');
    assert.ok('fault' in resolved);
    assert.match(resolved.fault, /name a DeploymentRuntimeConfig .*--package-runtime=External/);
  }
});

test('any reference, and none, is passed through untouched with External', () => {
  const ref = { apiVersion: 'pkg.example.org/v1', kind: 'CloudRunRuntimeConfig', name: 'default' };
  assert.deepEqual(resolveConfigReference(RUNTIMES.External, ref, 'beta'), { passedOn: ref });
  assert.deepEqual(resolveConfigReference(RUNTIMES.External, undefined, 'beta'), { passedOn: undefined });
});
