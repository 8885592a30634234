// The documents, flags and stages of the seed, as they stand there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { normalizeRuntimeConfig } from '../../src/runtime/normalize.ts';
import { functionRevision, inputWith, provider, schemas } from '../../src/runtime/render/render.test-support.ts';
import { renderRuntime } from '../../src/runtime/render/render.ts';
import { isBuiltIn } from '../../src/runtime/runtime.ts';
import { parsePackageRuntime, RUNTIMES, resolveConfigReference } from '../../src/runtime/runtimes.ts';
import { type ConfigReference, chooseConfig, runtimeConfigFeature, type Stage } from '../../src/runtime/stages.ts';

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');
const reference = (file: string) =>
  (parse(read(file)) as { spec: { runtimeConfigRef: ConfigReference } }).spec.runtimeConfigRef;

interface Flags {
  packageRuntime: { flag: string; makesRuntime: boolean }[];
  stages: { stage: Stage; flag: string | null; honours: 'runtimeConfigRef' | 'controllerConfigRef' }[];
  future: { flag: string }[];
}
const flags = JSON.parse(read('flags.json')) as Flags;
const valueOf = (flag: string) => flag.slice(flag.indexOf('=') + 1);

test('the seed’s DeploymentRuntimeConfig is accepted as it stands, with warnings for what is out of place', () => {
  const { config, warnings, errors } = normalizeRuntimeConfig(parse(read('runtime-config.yaml')), schemas);
  assert.deepEqual(errors, []);
  assert.deepEqual(
    warnings.map(({ path }) => path),
    [
      'spec.deploymentTemplate.serviceTemplate',
      'spec.deploymentTemplate.serviceAccountTemplate',
      'spec.deploymentTemplate.spec.template.securityContext',
      'spec.deploymentTemplate.spec.template.containers',
    ],
  );
  assert.ok(config);
  for (const revision of [provider, functionRevision]) {
    const { deployment, ...rest } = renderRuntime(inputWith({ revision, config }));
    const { deployment: plain, ...others } = renderRuntime(inputWith({ revision }));
    // It matches the built-in default, except for its example label.
    assert.deepEqual(deployment, { ...plain, metadata: { ...plain.metadata, labels: { example: 'label' } } });
    assert.deepEqual(rest, others);
  }
});

test('the seed’s Provider names a config that can be used', () => {
  assert.deepEqual(resolveConfigReference(RUNTIMES.Deployment, reference('provider.yaml'), 'beta'), {
    config: reference('provider.yaml'),
  });
});

test('the seed’s Provider for another runtime is refused by Deployment and passed through by External', () => {
  const ref = reference('external-provider.yaml');
  assert.ok('fault' in resolveConfigReference(RUNTIMES.Deployment, ref, 'beta'));
  assert.deepEqual(resolveConfigReference(RUNTIMES.External, ref, 'beta'), { passedOn: ref });
});

for (const { flag, makesRuntime } of flags.packageRuntime) {
  test(`${flag} ${makesRuntime ? 'makes' : 'does not make'} a runtime`, () => {
    const chosen = parsePackageRuntime(valueOf(flag));
    assert.ok(!('fault' in chosen));
    assert.equal(isBuiltIn(RUNTIMES[chosen.Provider as keyof typeof RUNTIMES]), makesRuntime);
  });
}

for (const { flag } of flags.future) {
  test(`${flag} is not there yet and says what is`, () => {
    const chosen = parsePackageRuntime(valueOf(flag));
    assert.match('fault' in chosen ? chosen.fault : '', /Deployment or External/);
  });
}

for (const { stage, flag, honours } of flags.stages) {
  test(`${stage}, ${flag ?? 'no flag'}: ${honours} is honoured`, () => {
    const enabled = flag === null ? undefined : !flag.endsWith('=false');
    const { use } = chooseConfig(runtimeConfigFeature(stage, enabled), {});
    assert.equal(`${use}Ref`, honours);
  });
}
