import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject } from '@capstan/kube';
import fc from 'fast-check';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { schemas } from '../runtime/render/render.test-support.ts';
import { type ConvertOptions, convertFiles } from './convert.ts';
import { someControllerConfig, somePackages } from './generated.test-support.ts';

function convert(text: string, options: Partial<ConvertOptions> = {}) {
  const { texts, findings } = convertFiles([{ name: 'in.yaml', text }], { schemas, ...options });
  const messages = (level: string) => findings.filter((one) => one.level === level).map(({ message }) => message);
  return { text: texts[0] ?? '', findings, warnings: messages('warning'), notes: messages('note') };
}

const documentsOf = <T>(text: string) =>
  parseAllDocuments(text, { merge: true }).map((document) => document.toJS() as T);

const controllerConfig = (rest: string, name = 'debug') => `apiVersion: pkg.crossplane.io/v1alpha1
kind: ControllerConfig
metadata:
  name: ${name}
${rest}`;
const provider = (spec: string, name = 'p') => `apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: ${name}
spec:
${spec}`;
const using = (name = 'p', config = 'debug') =>
  provider(`  package: registry.example.org/p:v1\n  controllerConfigRef:\n    name: ${config}\n`, name);
const used = (name = 'p', config = 'debug') =>
  provider(
    `  package: registry.example.org/p:v1\n  runtimeConfigRef:\n    apiVersion: pkg.crossplane.io/v1beta1\n    kind: DeploymentRuntimeConfig\n    name: ${config}\n`,
    name,
  );
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

const COMMENTED = `# All our packages.
---
# keep   this
apiVersion: v1
kind: ConfigMap
metadata: {name:   odd,   labels: { a : b}}
data:
    yes: "no"   # as it is
    text: |
       x
---
# How we debug.
apiVersion: pkg.crossplane.io/v1alpha1
kind: ControllerConfig
metadata:
  name: debug # its name
spec:
  # two of them
  replicas: 2

  # the group
  podSecurityContext:
    fsGroup: 2000 # why
  args:
  # loud
  - --debug
  - "--poll=1m" # often
  resources: {limits: {cpu: "1"}}
  # the end
---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: p
spec:
  # what
  package: registry.example.org/p:v1 # pinned
  # how
  controllerConfigRef: # old
    # which
    name: debug # this
# tail
...
---
# nothing here
`;

test('comments, order, marks, style and other documents stay', () => {
  const { text, warnings, notes } = convert(COMMENTED);
  assert.deepEqual([...warnings, ...notes], []);
  assert.equal(
    text,
    `# All our packages.
---
# keep   this
apiVersion: v1
kind: ConfigMap
metadata: {name:   odd,   labels: { a : b}}
data:
    yes: "no"   # as it is
    text: |
       x
---
# How we debug.
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata:
  name: debug # its name
spec:
  deploymentTemplate:
    spec:
      # two of them
      replicas: 2
      template:
        spec:
          # the group
          securityContext:
            fsGroup: 2000 # why
          containers:
          - name: package-runtime
            resources: {limits: {cpu: "1"}}
            args:
            # loud
            - --debug
            - "--poll=1m" # often
  # the end
---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: p
spec:
  # what
  package: registry.example.org/p:v1 # pinned
  # how
  runtimeConfigRef: # old
    # which
    apiVersion: pkg.crossplane.io/v1beta1
    kind: DeploymentRuntimeConfig
    name: debug # this
# tail
...
---
# nothing here
`,
  );
  assert.equal(convert(text).text, text);
});

test('every comment is there once, wherever it stands', () => {
  const comments = (text: string) => (text.match(/#.*/g) ?? []).toSorted();
  const kindFirst = controllerConfig('spec: {}\n').replace(/^(.*\n)(.*\n)/, '# top\n$2# second\n$1');
  const inList = `kind: List\napiVersion: v1\nitems:\n# above\n- # behind\n  ${controllerConfig('# deep\nspec:\n  # in\n  replicas: 2 # at\n  # last\n').trimEnd().replaceAll('\n', '\n  ')}\n# below\n`;
  // To these maps something is added.
  const added = `apiVersion: pkg.crossplane.io/v1alpha1
kind: ControllerConfig
metadata:
  annotations:
    # which role
    cloud.example/role: admin # the role
  name: debug
spec:
  image: registry.example.org/own:v1
  metadata:
    annotations:
      # which team
      team: storage # the team
`;
  for (const text of [COMMENTED, COMMENTED.slice(COMMENTED.indexOf('# How')), kindFirst, inList, added]) {
    assert.deepEqual(comments(convert(text).text), comments(text));
  }
  assert.match(convert(added).text, /metadata:\n {2}annotations:\n.*role\n.*\n.*\n {2}name: debug\n/);
});

test('line breaks of Windows stay', () => {
  const { text } = convert(COMMENTED.replaceAll('\n', '\r\n'));
  assert.ok(!/[^\r]\n/.test(text));
  assert.equal(text.replaceAll('\r\n', '\n'), convert(COMMENTED).text);
});

test('a text with nothing to convert is the same, whatever it looks like', () => {
  for (const text of ['', '\n', '# only\n', 'a: [1,\n 2]\n', '{"apiVersion": "v1"}', 'x', used(), '--- \n...\n']) {
    assert.equal(convert(text).text, text);
  }
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

test('Lists are converted item by item, in block style and as JSON', () => {
  const items = [parse(controllerConfig('spec: {replicas: 2}\n')), parse(using()), { apiVersion: 'v1', kind: 'Pod' }];
  const list = { apiVersion: 'v1', kind: 'List', metadata: {}, items };
  const wanted = {
    ...list,
    items: [
      {
        apiVersion: 'pkg.crossplane.io/v1beta1',
        kind: 'DeploymentRuntimeConfig',
        metadata: { name: 'debug' },
        spec: { deploymentTemplate: { spec: { replicas: 2 } } },
      },
      parse(used()),
      items[2],
    ],
  };
  for (const text of [
    stringify(list),
    JSON.stringify(list),
    JSON.stringify(list, undefined, 4),
    `---\n# c\n${stringify(list, { indentSeq: false })}`,
  ]) {
    const { text: converted, notes } = convert(text);
    assert.deepEqual(parse(converted), wanted);
    assert.deepEqual(notes, []);
    // JSON stays JSON, on one line or indented as it was.
    if (text.startsWith('{')) assert.deepEqual(JSON.parse(converted), wanted);
    if (text.includes('    "apiVersion')) assert.equal(converted, JSON.stringify(JSON.parse(converted), undefined, 4));
  }
});

test('a list of ControllerConfigs becomes a list of DeploymentRuntimeConfigs', () => {
  const list = {
    apiVersion: 'pkg.crossplane.io/v1alpha1',
    kind: 'ControllerConfigList',
    items: [parse(controllerConfig('')), parse(controllerConfig('', 'two'))],
  };
  const converted = parse(convert(stringify(list)).text) as typeof list;
  assert.equal(converted.kind, 'DeploymentRuntimeConfigList');
  assert.equal(converted.apiVersion, 'pkg.crossplane.io/v1beta1');
  assert.deepEqual(
    converted.items.map((item: unknown) => isJsonObject(item) && item['kind']),
    ['DeploymentRuntimeConfig', 'DeploymentRuntimeConfig'],
  );
});

test('anchors, aliases and merge keys keep their meaning', () => {
  const text = `apiVersion: v1
kind: List
items:
- apiVersion: pkg.crossplane.io/v1alpha1
  kind: ControllerConfig
  metadata: &meta
    name: debug
    labels: &labels {a: b}
  spec:
    nodeSelector: *labels
    podSecurityContext: &ctx {fsGroup: 1}
- apiVersion: pkg.crossplane.io/v1
  kind: Provider
  metadata: {name: p}
  spec:
    package: x
    controllerConfigRef: &ref {name: debug}
- apiVersion: pkg.crossplane.io/v1
  kind: Provider
  metadata: {name: q}
  spec: &spec
    package: y
    controllerConfigRef: *ref
- apiVersion: pkg.crossplane.io/v1
  kind: Function
  metadata: {name: f}
  spec:
    <<: *spec
`;
  const converted = convert(text);
  const [list] = documentsOf<{
    items: {
      kind: string;
      spec: { runtimeConfigRef?: object; controllerConfigRef?: object; deploymentTemplate?: object };
    }[];
  }>(converted.text);
  assert.equal(list?.items[0]?.kind, 'DeploymentRuntimeConfig');
  for (const item of list.items.slice(1)) {
    assert.equal(item.spec.controllerConfigRef, undefined);
    assert.deepEqual(item.spec.runtimeConfigRef, {
      apiVersion: 'pkg.crossplane.io/v1beta1',
      kind: 'DeploymentRuntimeConfig',
      name: 'debug',
    });
  }
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

test('the text of generated manifests in any style has the planned meaning, and a second run changes nothing', () => {
  const style = fc.constantFrom('block', 'indentless', 'json', 'indented', 'list', 'json list');
  fc.assert(
    fc.property(someControllerConfig, somePackages, style, (config, packages, how) => {
      const manifests = [config, ...packages];
      const list = { apiVersion: 'v1', kind: 'List', items: manifests };
      const texts: Record<typeof how, string> = {
        block: manifests.map((value) => stringify(value)).join('---\n'),
        indentless: manifests.map((value) => stringify(value, { indentSeq: false, indent: 4 })).join('---\n'),
        json: manifests.map((value) => JSON.stringify(value)).join('\n---\n'),
        indented: manifests.map((value) => JSON.stringify(value, undefined, 2)).join('\n---\n'),
        list: stringify(list),
        'json list': JSON.stringify(list, undefined, 2),
      };
      const { text, notes } = convert(texts[how]);
      assert.ok(!notes.some((note) => /rewritten|not kept/.test(note)), notes.join('\n'));
      const plain = convert(texts.json)
        .text.split('\n---\n')
        .map((one) => JSON.parse(one) as unknown);
      const found = parseAllDocuments(text).map((document) => document.toJS() as { items?: unknown[] });
      assert.deepEqual(how.endsWith('list') ? found[0]?.items : found, plain);
      const again = convert(text);
      assert.equal(again.text, text);
      assert.deepEqual(again.findings, []);
    }),
    { numRuns: 300 },
  );
});
