import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizeRuntimeConfig } from './normalize.ts';
import { schemas } from './render/render.test-support.ts';

function normalize(spec: unknown, rest: object = {}) {
  const object = { apiVersion: 'pkg.crossplane.io/v1beta1', kind: 'DeploymentRuntimeConfig', metadata: { name: 'x' } };
  return normalizeRuntimeConfig({ ...object, spec, ...rest }, schemas);
}

const paths = (found: readonly { path: string }[]) => found.map(({ path }) => path);

for (const version of ['v1alpha1', 'v1beta1', 'v1']) {
  test(`${version} is accepted`, () => {
    assert.deepEqual(normalize({}, { apiVersion: `pkg.crossplane.io/${version}` }).errors, []);
  });
}

test('other versions, groups and kinds are refused with the ones that can be used', () => {
  for (const apiVersion of ['pkg.crossplane.io/v2', 'pkg.example.org/v1', 'v1', undefined]) {
    assert.deepEqual(paths(normalize({}, { apiVersion }).errors), ['apiVersion']);
  }
  const { errors, config } = normalize({}, { kind: 'CloudRunRuntimeConfig' });
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['kind cannot be "CloudRunRuntimeConfig"; use DeploymentRuntimeConfig'],
  );
  assert.equal(config, undefined);
});

test('a config without a spec, or with empty templates, says nothing', () => {
  for (const spec of [undefined, null, {}, { deploymentTemplate: {} }, { serviceTemplate: { metadata: {} } }]) {
    const { config, warnings, errors } = normalize(spec);
    assert.deepEqual([...warnings, ...errors], []);
    assert.deepEqual(config?.deployment, { metadata: {}, spec: {} });
  }
});

test('neither selector nor containers nor template is required', () => {
  const { errors, warnings } = normalize({
    deploymentTemplate: { spec: { replicas: 2, template: { spec: { nodeName: 'n' } } } },
  });
  assert.deepEqual([...errors, ...warnings], []);
  assert.deepEqual(normalize({ deploymentTemplate: { spec: { selector: {} } } }).errors, []);
});

test('templates inside the Deployment’s are moved to their place with a warning', () => {
  const { config, warnings } = normalize({
    deploymentTemplate: {
      serviceTemplate: { metadata: { name: 's' } },
      serviceAccountTemplate: { metadata: { labels: { a: 'b' } } },
    },
  });
  assert.deepEqual(config?.service, { name: 's' });
  assert.deepEqual(config?.serviceAccount, { labels: { a: 'b' } });
  assert.deepEqual(
    warnings.map(({ message }) => message),
    [
      'spec.deploymentTemplate.serviceTemplate was taken for spec.serviceTemplate; move it there',
      'spec.deploymentTemplate.serviceAccountTemplate was taken for spec.serviceAccountTemplate; move it there',
    ],
  );
});

test('a template in both places is accepted when it is the same and refused when it differs', () => {
  const at = (inside: string, outside: string) =>
    normalize({
      deploymentTemplate: { serviceTemplate: { metadata: { name: inside } } },
      serviceTemplate: { metadata: { name: outside } },
    });
  assert.deepEqual(at('s', 's').errors, []);
  const { errors, config } = at('s', 't');
  assert.deepEqual(paths(errors), ['spec.deploymentTemplate.serviceTemplate']);
  assert.equal(config, undefined);
});

test('the fields of a pod spec directly under template are moved with a warning', () => {
  const { config, warnings } = normalize({
    deploymentTemplate: {
      spec: {
        template: { metadata: { labels: { a: 'b' } }, hostNetwork: true, spec: { nodeName: 'n', hostPID: null } },
      },
    },
  });
  assert.deepEqual(config?.deployment.spec.template, {
    metadata: { labels: { a: 'b' } },
    spec: { hostNetwork: true, nodeName: 'n' },
  });
  assert.deepEqual(paths(warnings), ['spec.deploymentTemplate.spec.template.hostNetwork']);
});

test('a pod field in both places is refused when it differs', () => {
  const at = (inside: string, outside: string) =>
    normalize({ deploymentTemplate: { spec: { template: { nodeName: outside, spec: { nodeName: inside } } } } });
  assert.deepEqual(at('a', 'a').errors, []);
  assert.deepEqual(paths(at('a', 'b').errors), ['spec.deploymentTemplate.spec.template.nodeName']);
});

test('unknown fields are reported with their path and left out', () => {
  const { config, warnings, errors } = normalize({
    tmplate: 1,
    serviceTemplate: { spec: {}, metadata: { namespace: 'elsewhere' } },
    deploymentTemplate: {
      spec: {
        template: {
          spec: { containers: [{ name: 'package-runtime', resorces: {}, env: [{ name: 'A', vale: '1' }] }] },
        },
      },
    },
  });
  assert.deepEqual(errors, []);
  assert.deepEqual(paths(warnings).toSorted(), [
    'spec.deploymentTemplate.spec.template.spec.containers[0].env[0].vale',
    'spec.deploymentTemplate.spec.template.spec.containers[0].resorces',
    'spec.serviceTemplate.metadata.namespace',
    'spec.serviceTemplate.spec',
    'spec.tmplate',
  ]);
  assert.deepEqual(config?.deployment.spec.template?.spec?.containers, [
    { name: 'package-runtime', env: [{ name: 'A' }] },
  ]);
});

test('values of a wrong type are errors with their path', () => {
  const { errors } = normalize({
    deploymentTemplate: {
      metadata: { labels: { a: 1 } },
      spec: { replicas: '2', template: { spec: { containers: {}, tolerations: [7], nodeSelector: { a: true } } } },
    },
    serviceAccountTemplate: [],
  });
  assert.deepEqual(errors.map(({ message }) => message).toSorted(), [
    'spec.deploymentTemplate.metadata.labels.a must be a text; write it in quotes',
    'spec.deploymentTemplate.spec.replicas must be a whole number and is a text; correct it',
    'spec.deploymentTemplate.spec.template.spec.containers must be a list and is an object; correct it',
    'spec.deploymentTemplate.spec.template.spec.nodeSelector.a must be a text and is true; correct it',
    'spec.deploymentTemplate.spec.template.spec.tolerations[0] must be an object and is 7; correct it',
    'spec.serviceAccountTemplate must be an object; correct it',
  ]);
});

test('a quantity that is none is an error with its path, which the server would not tell', () => {
  const withCpu = (cpu: unknown) =>
    normalize({
      deploymentTemplate: {
        spec: { template: { spec: { containers: [{ name: 'package-runtime', resources: { limits: { cpu } } }] } } },
      },
    }).errors.map(({ message }) => message);
  for (const good of ['500m', '0.5', 1, 0.25, '1Gi', '1e3', '.5']) assert.deepEqual(withCpu(good), [], String(good));
  for (const bad of ['lots', '1 Gi', '', '1GB'])
    assert.deepEqual(withCpu(bad), [
      `spec.deploymentTemplate.spec.template.spec.containers[0].resources.limits.cpu cannot be ${JSON.stringify(bad)}; write a quantity such as 500m or 1Gi`,
    ]);
});

test('numbers and texts are both fine where Kubernetes takes both', () => {
  const { errors } = normalize({
    deploymentTemplate: {
      spec: {
        strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: '25%' } },
        template: { spec: { containers: [{ name: 'x', resources: { limits: { cpu: 1.5, memory: '1Gi' } } }] } },
      },
    },
  });
  assert.deepEqual(errors, []);
});

test('nulls count as absent, as they do for a server', () => {
  const { config, errors, warnings } = normalize({
    deploymentTemplate: { metadata: { creationTimestamp: null }, spec: { replicas: null, template: { spec: null } } },
    serviceTemplate: null,
  });
  assert.deepEqual([...errors, ...warnings], []);
  assert.deepEqual(config?.deployment.spec, { template: {} });
});
