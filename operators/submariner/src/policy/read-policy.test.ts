import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readPolicy } from './read-policy.ts';
import { readYaml } from './read-yaml.ts';
import { parseSelectorText } from './selector.ts';

const read = (spec: unknown, name = 'p') => readPolicy({ metadata: { name }, spec });
const problems = (spec: unknown, name?: string) => read(spec, name).problems.map(({ message }) => message);
const production = { matchLabels: { env: 'production' } };

describe('a policy', () => {
  test('has the same meaning in every form', () => {
    const forms = [
      {
        leftClusterSelector: { env: 'production' },
        cableDriver: { name: 'ipsec', options: { data: { dpdDelay: '5' } } },
      },
      [
        {
          leftClusterSelector: production,
          name: 'ipsec',
          options: { metadata: { name: 'x' }, data: { dpdDelay: '5' } },
        },
      ],
      {
        leftClusterSelector: { matchExpressions: [{ key: 'env', operator: 'In', values: ['production'] }] },
        rightClusterSelector: {},
        cableDriver: 'Libreswan',
        options: { data: { CableCustomConfig: 'dpdDelay: 5' } },
      },
    ];
    for (const form of forms) {
      const { rules, problems: wrong } = read(form);
      assert.deepEqual(wrong, []);
      const [rule] = rules;
      assert.deepEqual(rule?.left.selector, production);
      assert.deepEqual(rule?.right.selector, {});
      assert.equal(rule?.driver, 'ipsec');
      assert.deepEqual(rule?.options, { data: { dpdDelay: '5' } });
    }
  });

  test('may name a ConfigMap with its options', () => {
    for (const options of ['cm', { configMapRef: { name: 'cm' } }, { metadata: { name: 'cm' } }])
      assert.deepEqual(read({ name: 'vxlan', options }).rules[0]?.options, { configMapRef: { name: 'cm' }, data: {} });
  });

  test('negates a value with an exclamation mark, which also selects clusters without the label', () => {
    const left = read({ leftClusterSelector: { env: '!production' }, name: 'vxlan' }).rules[0]?.left.compiled;
    const clusters: Record<string, string>[] = [{ env: 'production' }, { env: 'test' }, {}];
    assert.deepEqual(
      clusters.map((labels) => left?.matches(labels)),
      [false, true, true],
    );
  });

  test('finds a cluster by its id under either label', () => {
    const rule = read({ leftClusterSelector: { 'submariner-io/clusterID': 'east' }, name: 'vxlan' }).rules[0];
    assert.deepEqual(rule?.left.selector, { matchLabels: { 'submariner.io/cluster-id': 'east' } });
  });

  const refused: readonly [string, unknown, RegExp, string?][] = [
    ['without rules', [], /^spec: Required value: at least one connection policy must be specified$/],
    ['without a driver', {}, /^spec\[0\]\.cableDriver\.name: Required value$/],
    ['with an unknown driver', { name: 'gre' }, /Unsupported value: "gre": supported values: "ipsec", "none", "vxlan"/],
    [
      'with two drivers',
      { name: 'vxlan', cableDriver: 'ipsec' },
      /given as both "name" \("vxlan"\) and "cableDriver" \("ipsec"\)/,
    ],
    ['with a mixed selector', { name: 'vxlan', leftClusterSelector: { matchLabels: {}, env: 'x' } }, /cannot combine/],
    ['with a bad label', { name: 'vxlan', leftClusterSelector: { env: 'a b' } }, /leftClusterSelector: Invalid value/],
    ['with a number as label', { name: 'vxlan', leftClusterSelector: { tier: 1 } }, /must be a string; quote it/],
    [
      'that can never match',
      {
        name: 'vxlan',
        leftClusterSelector: {
          matchLabels: { a: 'b' },
          matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }],
        },
      },
      /selector can never match/,
    ],
    [
      'with a misspelt option',
      { name: 'vxlan', options: { data: { vxlanId: '5' } } },
      /data\[vxlanId\]: Unsupported value/,
    ],
    ['with a bad option', { name: 'vxlan', options: { data: { vxlanID: '0' } } }, /between 1 and 16777215/],
    ['with a bad priority', { name: 'vxlan', priority: 1001 }, /priority: Invalid value: 1001/],
    ['with an unknown field', { name: 'vxlan', leftSelector: {} }, /spec\[0\]\.leftSelector: Forbidden: unknown field/],
    [
      'called default with selectors',
      { name: 'vxlan', leftClusterSelector: { a: 'b' } },
      /the "default" policy cannot have cluster selectors/,
      'default',
    ],
    [
      'called default with two rules',
      [{ name: 'vxlan' }, { name: 'ipsec' }],
      /Too many: 2: the "default" policy must have exactly one/,
      'default',
    ],
  ];
  for (const [what, spec, message, name] of refused) {
    test(`${what} is refused with the path of the field`, () => {
      const found = problems(spec, name);
      assert.equal(found.length, 1, found.join('\n'));
      assert.match(found[0] ?? '', message);
      assert.deepEqual(read(spec, name).rules, []);
    });
  }

  test('reports all of its problems at once', () => {
    assert.equal(problems([{ name: 'gre', priority: 'x' }, {}]).length, 3);
  });
});

describe('a file with policies', () => {
  test('may hold !production without quotes, as the design writes it', () => {
    const text =
      'kind: CablePolicies\nmetadata: {name: p}\nspec:\n  leftClusterSelector:\n    env: !production\n  name: vxlan\n';
    const { objects, warnings, problems: wrong } = readYaml(text, 'p.yaml');
    assert.deepEqual(wrong, []);
    assert.match(warnings[0] ?? '', /p\.yaml:5: !production is a YAML tag, read as "!production"; write it in quotes/);
    assert.deepEqual(read(objects[0]?.['spec']).rules[0]?.left.selector, {
      matchExpressions: [{ key: 'env', operator: 'NotIn', values: ['production'] }],
    });
  });

  test('names the line of what is not YAML', () => {
    const { problems: wrong } = readYaml('a: b\nc: [\n', 'p.yaml');
    assert.match(wrong[0] ?? '', /^p\.yaml:\d: /);
  });
});

test('the text of a selector may be written as a selector or as the design writes labels', () => {
  for (const text of ['env!=production', 'env: !production', 'env:!production', 'env=!production'])
    assert.deepEqual(parseSelectorText(text), {
      matchExpressions: [{ key: 'env', operator: 'NotIn', values: ['production'] }],
    });
  assert.deepEqual(parseSelectorText('env: production,tier in (a,b)'), {
    matchLabels: { env: 'production' },
    matchExpressions: [{ key: 'tier', operator: 'In', values: ['a', 'b'] }],
  });
});
