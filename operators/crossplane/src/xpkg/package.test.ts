import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { YamlLimits } from './documents/yaml-stream.ts';
import { PackageError } from './errors.ts';
import { checkPackageType, readPackage } from './package.ts';

const read = (text: string, limits?: YamlLimits, size = 64) => {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  return readPackage(chunks(), limits);
};

const PROVIDER = `apiVersion: meta.pkg.crossplane.io/v1
kind: Provider
metadata:
  name: provider-example
  labels: {pkg.crossplane.io/provider-family: family-x}
  annotations: {meta.crossplane.io/maintainer: me}
spec:
  crossplane: {version: ">=v1.14.0"}
  controller:
    image: example.org/controller:v1
    permissionRequests:
    - {apiGroups: [apps], resources: [deployments], verbs: [get]}
  dependsOn:
  - {provider: example.org/provider-family, version: ">=v1.0.0"}
  - {apiVersion: pkg.crossplane.io/v1beta1, kind: Function, package: example.org/f, version: sha256:${'0'.repeat(64)}}
`;
const crd = (name: string) => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${name}}
spec: {group: example.org}
`;
const meta = (kind: string, spec = '{}') =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: {name: x}\nspec: ${spec}\n`;

describe('a package', () => {
  test('is its meta object and its objects, in order', async () => {
    const {
      meta: found,
      objects,
      inputs,
    } = await read(
      `# a comment\n---\n${crd('a.example.org')}---\n# nothing\n---\n---\n${PROVIDER}...\n${crd('b.example.org')}`,
    );
    assert.deepEqual(
      objects.map(({ metadata }) => metadata.name),
      ['a.example.org', 'b.example.org'],
    );
    assert.deepEqual(inputs, []);
    const { object, ...rest } = found;
    assert.equal(object.kind, 'Provider');
    assert.deepEqual(rest, {
      type: 'Provider',
      apiVersion: 'meta.pkg.crossplane.io/v1',
      name: 'provider-example',
      labels: { 'pkg.crossplane.io/provider-family': 'family-x' },
      annotations: { 'meta.crossplane.io/maintainer': 'me' },
      crossplaneVersion: '>=v1.14.0',
      dependsOn: [
        {
          apiVersion: 'pkg.crossplane.io/v1',
          kind: 'Provider',
          package: 'example.org/provider-family',
          constraints: '>=v1.0.0',
        },
        {
          apiVersion: 'pkg.crossplane.io/v1beta1',
          kind: 'Function',
          package: 'example.org/f',
          constraints: `sha256:${'0'.repeat(64)}`,
        },
      ],
      image: 'example.org/controller:v1',
      permissionRequests: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }],
      capabilities: [],
    });
  });

  for (const version of ['v1', 'v1beta1', 'v1alpha1'])
    test(`has a meta object of ${version}`, async () => {
      const { meta: found } = await read(PROVIDER.replace('/v1\n', `/${version}\n`));
      assert.equal(found.apiVersion, `meta.pkg.crossplane.io/${version}`);
    });

  test('a package that is a Function has CRDs as descriptions of its input, and installs none', async () => {
    const {
      objects,
      inputs,
      meta: found,
    } = await read(`${meta('Function', '{image: "example.org/f:v1"}')}---\n${crd('a.b')}`);
    assert.deepEqual([objects.length, inputs.length, found.image], [0, 1, 'example.org/f:v1']);
  });

  test('a package that is a Configuration has definitions and compositions', async () => {
    const { objects } = await read(
      `${meta('Configuration')}---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: c}
---
apiVersion: apiextensions.crossplane.io/v2
kind: CompositeResourceDefinition
metadata: {name: x.example.org}
`,
    );
    assert.equal(objects.length, 2);
  });

  test('a package that is installed as another kind is reported', async () => {
    const found = await read(PROVIDER);
    checkPackageType(found, 'Provider');
    assert.throws(
      () => checkPackageType(found, 'Function'),
      /is a Provider and was installed as a Function; create a Provider/,
    );
  });

  test('reads YAML as Kubernetes does: yes is true, times are texts, dashes in a block end the document', async () => {
    const { objects } = await read(
      `${PROVIDER}--- # next\n${crd('a.b')}x: yes\ntime: 2024-01-01\nminutes: 1:30\ntext: |\n  a\n  ---\n  b\n`,
    );
    assert.deepEqual(
      [objects[0]?.['x'], objects[0]?.['time'], objects[0]?.['minutes'], objects[0]?.['text']],
      [true, '2024-01-01', '1:30', 'a\n---\nb\n'],
    );
  });

  const cases: [what: string, text: string, problem: RegExp][] = [
    ['nothing', '', /no object of the group meta.pkg.crossplane.io, and needs exactly one/],
    ['only comments', '# a\n---\n# b\n', /needs exactly one/],
    ['no meta', crd('a.b'), /needs exactly one/],
    [
      'two metas',
      `${PROVIDER}---\n${meta('Function')}`,
      /has 2 objects .*Provider at line 1, Function at line \d+.*needs exactly one/,
    ],
    ['an unknown meta kind', meta('Gizmo'), /meta object is a Gizmo, and must be one of Provider/],
    ['an unknown meta version', PROVIDER.replace('/v1\n', '/v9\n'), /has the version v9; known are v1/],
    [
      'a kind that it may not hold',
      `${PROVIDER}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n`,
      /Secret "s" \(v1\) at line \d+ is a kind that a Provider package may not hold; it may hold CustomResourceDefinition/,
    ],
    [
      'a composition in a Provider',
      `${PROVIDER}---\napiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: s}\n`,
      /may not hold/,
    ],
    [
      'an unknown version of a kind',
      `${PROVIDER}---\n${crd('a.b').replace('k8s.io/v1', 'k8s.io/v7')}`,
      /its version is not known; known are v1, v1beta1/,
    ],
    [
      'an object twice',
      `${PROVIDER}---\n${crd('a.b')}---\n${crd('a.b')}`,
      /"a.b" is there twice, at line \d+ and line \d+/,
    ],
    ['an object without a name', `${PROVIDER}---\n${crd('""')}`, /has no metadata.name/],
    ['an object with an impossible name', `${PROVIDER}---\n${crd('"../x"')}`, /cannot be named "..\/x"/],
    ['an object in a namespace', `${PROVIDER}---\n${crd('x, namespace: y')}`, /has a namespace/],
    ['an object without a kind', `${PROVIDER}---\napiVersion: v1\n`, /it has no kind/],
    ['a document that is a list', `${PROVIDER}---\n- a\n`, /it is not a mapping/],
    [
      'a bad version constraint',
      meta('Provider', '{crossplane: {version: "latest"}}'),
      /spec.crossplane.version "latest" is not a version constraint/,
    ],
    [
      'a dependency on two',
      meta('Provider', '{dependsOn: [{provider: a/b, function: a/c, version: "1"}]}'),
      /dependsOn\[0\] must name one package/,
    ],
    [
      'a dependency with a tag',
      meta('Provider', '{dependsOn: [{provider: "a/b:v1", version: "1"}]}'),
      /names "a\/b:v1", which is not an image without a tag/,
    ],
    ['a dependency without a version', meta('Provider', '{dependsOn: [{provider: "a/b"}]}'), /has the version missing/],
    [
      'a dependency with a bad version',
      meta('Provider', '{dependsOn: [{provider: "a/b", version: "x y"}]}'),
      /neither a version constraint nor a digest/,
    ],
    [
      'dependencies that are no list',
      meta('Provider', '{dependsOn: {}}'),
      /spec.dependsOn of its meta object is not a list/,
    ],
    [
      'labels that are no texts',
      'apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: x, labels: {a: 1}}\n',
      /not a mapping of texts/,
    ],
    ['a key twice', `${PROVIDER}kind: Function\n`, /package.yaml, line 1 is not YAML: .*unique/i],
    ['broken YAML', `${PROVIDER}---\na: [\n`, /package.yaml, line \d+ is not YAML/],
    ['bytes that are no text', `${PROVIDER}---\na: \u0000\n`, /is not|not a mapping|no apiVersion/],
  ];
  for (const [what, text, problem] of cases)
    test(`a package with ${what} is refused`, async () => {
      await assert.rejects(read(text), (error: unknown) => {
        assert.ok(error instanceof PackageError, String(error));
        assert.match(error.message, problem);
        return true;
      });
    });

  test('reports all its problems together, and not more than a reader can take', async () => {
    const many = Array.from({ length: 30 }, (_, i) => `apiVersion: v1\nkind: Secret\nmetadata: {name: s${i}}\n`);
    await assert.rejects(read([PROVIDER, ...many].join('---\n')), /s0.*s9.*and 20 more/);
  });

  test('a package that is not UTF-8 is refused', async () => {
    async function* bytes() {
      yield Buffer.from([0x61, 0x3a, 0x20, 0xff, 0xfe]);
    }
    await assert.rejects(readPackage(bytes()), /is not UTF-8/);
  });
});

describe('a stream that means harm', () => {
  test('a stream that means harm with aliases that multiply is refused', async () => {
    let bomb = 'a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n';
    for (let i = 1; i < 12; i++)
      bomb += `a${i}: &a${i} [${Array.from({ length: 10 }, () => `*a${i - 1}`).join(',')}]\n`;
    await assert.rejects(read(bomb, {}, 4096), /is not YAML: .*alias/i);
  });

  test('a stream that means harm with nesting without end is refused', async () => {
    await assert.rejects(read(`a: ${'['.repeat(200_000)}`, {}, 65_536), (error) => error instanceof PackageError);
  });

  test('a stream that is too long, in all, in a document or in their number, is refused', async () => {
    await assert.rejects(
      read('x'.repeat(5000), { maxBytes: 1000 }),
      /package.yaml is larger than the limit of 1000 bytes/,
    );
    await assert.rejects(read(`a: b\n`.repeat(500), { maxDocumentBytes: 1000 }), /document at line 1/);
    await assert.rejects(read('x'.repeat(5000), { maxDocumentBytes: 1000 }), /line 1 of package.yaml/);
    await assert.rejects(read('---\na: 1\n'.repeat(50), { maxDocuments: 10 }), /limit of 10 documents/);
  });

  test('a stream that means harm with names of prototypes changes no other object', async () => {
    await assert.rejects(read('__proto__: {polluted: yes}\nconstructor: {prototype: {polluted: yes}}\n'));
    assert.equal(Reflect.get({}, 'polluted'), undefined);
  });

  test('a stream that means harm of any text is read or refused', async () => {
    const piece = fc.constantFrom(
      '---\n',
      '...\n',
      PROVIDER,
      crd('a.b'),
      'a: b\n',
      '- ',
      '  ',
      '{',
      ']',
      '\r\n',
      '%YAML 1.1\n',
      '&a',
      '*a',
      '!!set',
      '\t',
      '<<: ',
      '|',
      '\u2028',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        try {
          await read(pieces.join(''), {}, 100);
        } catch (error) {
          assert.ok(error instanceof PackageError, String(error));
        }
      }),
      { numRuns: 150 },
    );
  });
});
