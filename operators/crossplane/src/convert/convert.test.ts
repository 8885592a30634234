import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { schemas } from '../runtime/render/render.test-support.ts';
import { controllerConfig, convert, documentsOf, provider, used, using } from './convert.test-support.ts';
import { convertFiles } from './convert.ts';

const stream = (...documents: string[]) => documents.join('---\n');

test('a ControllerConfig with a name and nothing else is a config with an empty spec', () => {
  const { text, warnings } = convert(stream(controllerConfig(''), using()));
  assert.deepEqual(warnings, []);
  assert.equal(
    text,
    stream(
      'apiVersion: pkg.crossplane.io/v1beta1\nkind: DeploymentRuntimeConfig\nmetadata:\n  name: debug\nspec: {}\n',
      used(),
    ),
  );
});

test('its own labels and annotations go to the templates of Deployment and ServiceAccount', () => {
  const { text } = convert(
    stream(
      `apiVersion: pkg.crossplane.io/v1alpha1
kind: ControllerConfig
metadata:
  name: debug
  creationTimestamp: 2020-01-01T00:00:00Z
  resourceVersion: "7"
  labels: {team: infra}
  annotations:
    role: arn
    kubectl.kubernetes.io/last-applied-configuration: "{}"
`,
      using(),
    ),
  );
  const metadata = { labels: { team: 'infra' }, annotations: { role: 'arn' } };
  assert.deepEqual(parseAllDocuments(text)[0]?.toJS(), {
    apiVersion: 'pkg.crossplane.io/v1beta1',
    kind: 'DeploymentRuntimeConfig',
    metadata: { name: 'debug', ...metadata },
    spec: { deploymentTemplate: { metadata }, serviceAccountTemplate: { metadata } },
  });
});

test('every field has its place', () => {
  const all = {
    metadata: { labels: { l: '1' }, annotations: { 'prometheus.io/scrape': 'true' } },
    replicas: 2,
    image: 'mine:v1',
    nodeSelector: { disk: 'ssd' },
    serviceAccountName: 'account',
    nodeName: 'node-1',
    podSecurityContext: { fsGroup: 1 },
    securityContext: { privileged: true },
    affinity: { nodeAffinity: {} },
    tolerations: [{ key: 'k' }],
    priorityClassName: 'p',
    runtimeClassName: 'r',
    resources: { limits: { cpu: '1' } },
    args: ['-d'],
    envFrom: [{ configMapRef: { name: 'c' } }],
    env: [{ name: 'A', value: '1' }],
    ports: [
      { name: 'metrics', containerPort: 8080 },
      { name: 'webhook', containerPort: 9443 },
    ],
    volumes: [{ name: 'v' }],
    volumeMounts: [{ name: 'v', mountPath: '/v' }],
  };
  const { text, warnings } = convert(stream(controllerConfig(stringify({ spec: all })), using()));
  assert.deepEqual(warnings, []);
  assert.deepEqual(parseAllDocuments(text)[0]?.toJS(), {
    apiVersion: 'pkg.crossplane.io/v1beta1',
    kind: 'DeploymentRuntimeConfig',
    metadata: { name: 'debug', annotations: { 'capstan.dev/keep-template-image': 'true' } },
    spec: {
      deploymentTemplate: {
        spec: {
          replicas: 2,
          template: {
            metadata: all.metadata,
            spec: {
              nodeSelector: all.nodeSelector,
              nodeName: 'node-1',
              securityContext: all.podSecurityContext,
              affinity: all.affinity,
              tolerations: all.tolerations,
              priorityClassName: 'p',
              runtimeClassName: 'r',
              volumes: all.volumes,
              serviceAccountName: 'account',
              containers: [
                {
                  name: 'package-runtime',
                  image: 'mine:v1',
                  securityContext: all.securityContext,
                  resources: all.resources,
                  args: all.args,
                  envFrom: all.envFrom,
                  env: all.env,
                  ports: all.ports,
                  volumeMounts: all.volumeMounts,
                },
              ],
            },
          },
        },
      },
      serviceAccountTemplate: { metadata: { name: 'account' } },
    },
  });
});

test('pull policy and pull secrets move to the packages', () => {
  const config = controllerConfig('spec:\n  imagePullPolicy: Always\n  imagePullSecrets:\n  - name: a\n  - name: b\n');
  const { text, warnings, notes } = convert(
    stream(
      config,
      using(),
      provider(
        '  packagePullSecrets: [{name: a}]\n  packagePullPolicy: Never\n  package: x\n  controllerConfigRef: {name: debug}\n',
        'q',
      ),
    ),
  );
  const [drc, p, q] = parseAllDocuments(text).map((document) => document.toJS() as { spec: object });
  assert.deepEqual(drc?.spec, {});
  const runtimeConfigRef = { apiVersion: 'pkg.crossplane.io/v1beta1', kind: 'DeploymentRuntimeConfig', name: 'debug' };
  assert.deepEqual(p?.spec, {
    package: 'registry.example.org/p:v1',
    packagePullPolicy: 'Always',
    packagePullSecrets: [{ name: 'a' }, { name: 'b' }],
    runtimeConfigRef,
  });
  assert.deepEqual(q?.spec, {
    packagePullSecrets: [{ name: 'a' }, { name: 'b' }],
    packagePullPolicy: 'Never',
    package: 'x',
    runtimeConfigRef,
  });
  assert.deepEqual(warnings.length, 3);
  assert.match(warnings[0] ?? '', /not carried over to Provider\/q/);
  assert.match(warnings[1] ?? '', /spec.packagePullPolicy of Provider\/p now.*a tag that moved is installed/);
  assert.match(warnings[2] ?? '', /replaced the pull secrets of Provider\/q/);
  assert.match(notes[0] ?? '', /spec.packagePullSecrets of Provider\/p, Provider\/q/);
});

test('a default that the server wrote into a package gives way to the ControllerConfig’s pull policy', () => {
  const written = provider(
    '  packagePullPolicy: IfNotPresent # written\n  package: x\n  controllerConfigRef: {name: debug}\n',
  );
  const { text, warnings } = convert(stream(controllerConfig('spec: {imagePullPolicy: Always}\n'), written));
  assert.match(text, /packagePullPolicy: Always # written\n/);
  assert.equal(warnings.length, 1);
});

test('a package without its ControllerConfig is left as it is, with a warning', () => {
  const { text, warnings } = convert(using());
  assert.equal(text, using());
  assert.match(warnings[0] ?? '', /ControllerConfig debug, which is not in the input/);
});

test('a ControllerConfig without packages is converted, with a warning, and keeps its pull secrets', () => {
  const { text, warnings } = convert(
    controllerConfig('spec: {imagePullPolicy: Always, imagePullSecrets: [{name: a}]}\n'),
  );
  assert.deepEqual(parse(text), {
    apiVersion: 'pkg.crossplane.io/v1beta1',
    kind: 'DeploymentRuntimeConfig',
    metadata: { name: 'debug' },
    spec: {
      deploymentTemplate: {
        spec: {
          template: {
            spec: {
              imagePullSecrets: [{ name: 'a' }],
              containers: [{ name: 'package-runtime', imagePullPolicy: 'Always' }],
            },
          },
        },
      },
    },
  });
  assert.equal(warnings.length, 2);
});

test('a package that has another runtime config too is left, with all that hangs together with it', () => {
  const text = stream(
    controllerConfig('spec: {replicas: 2}\n'),
    using('other'),
    provider('  package: x\n  runtimeConfigRef: {name: mine}\n  controllerConfigRef: {name: debug}\n'),
  );
  const converted = convert(text);
  assert.equal(converted.text, text);
  assert.match(
    converted.warnings[0] ?? '',
    /has both spec.controllerConfigRef \(debug\) and spec.runtimeConfigRef \(mine\)/,
  );
});

for (const [style, spec] of [
  ['block, before', '  package: x\n  runtimeConfigRef:\n    name: default\n  controllerConfigRef:\n    name: debug\n'],
  [
    'block, after',
    '  package: x\n  controllerConfigRef:\n    name: debug\n  runtimeConfigRef:\n    name: default\n    kind: DeploymentRuntimeConfig\n',
  ],
  ['flow, last', '  {package: x, runtimeConfigRef: {name: default}, controllerConfigRef: {name: debug}}\n'],
  ['flow, first', '  {controllerConfigRef: {name: debug}, package: x, runtimeConfigRef: {name: "default"}}\n'],
] as const) {
  test(`a reference to the default beside it gives way (${style})`, () => {
    const { text, notes } = convert(stream(controllerConfig(''), provider(spec)));
    assert.deepEqual(notes, []);
    assert.deepEqual(documentsOf<{ spec: object }>(text)[1]?.spec, {
      package: 'x',
      runtimeConfigRef: { apiVersion: 'pkg.crossplane.io/v1beta1', kind: 'DeploymentRuntimeConfig', name: 'debug' },
    });
  });
}

test('a name that is taken by another config, and the name default, are not used', () => {
  const other =
    'apiVersion: pkg.crossplane.io/v1beta1\nkind: DeploymentRuntimeConfig\nmetadata: {name: debug}\nspec: {serviceTemplate: {}}\n';
  const { text, warnings } = convert(stream(other, controllerConfig('spec: {replicas: 2}\n'), using()));
  assert.match(warnings[0] ?? '', /is called debug-converted now/);
  assert.ok(text.startsWith(other));
  assert.match(text, /name: debug-converted\n/);
  assert.equal((text.match(/debug-converted/g) ?? []).length, 2);
  const named = convert(stream(controllerConfig('spec: {replicas: 2}\n', 'default'), using('p', 'default')));
  assert.match(named.warnings[0] ?? '', /named default is for all packages/);
  assert.ok(!/name: default\n/.test(named.text));
});

test('an equal config that is there already is used, and nothing is made twice', () => {
  const there =
    'apiVersion: pkg.crossplane.io/v1beta1\nkind: DeploymentRuntimeConfig\nmetadata: {name: debug}\nspec: {deploymentTemplate: {spec: {replicas: 2}}}\n';
  const old = controllerConfig('spec: {replicas: 2}\n');
  const { text, warnings, notes } = convert(stream(there, old, using()));
  assert.deepEqual(warnings, []);
  assert.equal(text, stream(there, old, used()));
  assert.match(notes[0] ?? '', /not changed; remove it/);
});

test('different ControllerConfigs of one name are left, with their packages', () => {
  const text = stream(controllerConfig('spec: {replicas: 1}\n'), controllerConfig('spec: {replicas: 2}\n'), using());
  const converted = convert(text);
  assert.equal(converted.text, text);
  assert.equal(converted.warnings.length, 2);
});

test('unknown fields and values of a wrong type are reported', () => {
  const unknown = convert(stream(controllerConfig('spec: {replcas: 2, resources: {limit: {}}}\n'), using()));
  assert.match(unknown.warnings.join('\n'), /spec\.replcas is not a field/);
  assert.match(unknown.warnings.join('\n'), /resources\.limit is not a field/);
  const text = stream(controllerConfig('spec: {replicas: many}\n'), using());
  const wrong = convert(text);
  assert.equal(wrong.text, text);
  assert.match(wrong.warnings[0] ?? '', /not changed: .*replicas must be a whole number/);
});

test('a suffix and another stage are written everywhere', () => {
  const { text } = convert(stream(controllerConfig(''), using()), {
    nameSuffix: '-x',
    apiVersion: 'pkg.crossplane.io/v1',
  });
  assert.equal(text.match(/name: debug-x\n/g)?.length, 2);
  assert.equal(text.match(/apiVersion: pkg\.crossplane\.io\/v1\n/g)?.length, 3);
});

test('files are converted together', () => {
  const { texts, findings } = convertFiles(
    [
      { name: 'a.yaml', text: using() },
      { name: 'b.yaml', text: controllerConfig('spec: {replicas: 2}\n') },
    ],
    { schemas },
  );
  assert.deepEqual(findings, []);
  assert.equal(texts[0], used());
  assert.match(texts[1] ?? '', /kind: DeploymentRuntimeConfig/);
});

test('a file that is not YAML is an error with its place', () => {
  assert.throws(() => convert('a: b\n---\n{]\n'), /in\.yaml:3 cannot be read/);
});
