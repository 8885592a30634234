import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject } from '@capstan/kube';
import fc from 'fast-check';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { controllerConfig, convert, documentsOf, used, using } from './convert.test-support.ts';
import { someControllerConfig, somePackages } from './generated.test-support.ts';

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
