import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { isJsonObject, type ObjectMeta } from '@capstan/kube';
import { parse } from 'yaml';
import { CablePolicies, Submariner } from '../../src/kinds/index.ts';
import { readPolicy } from '../../src/policy/read-policy.ts';
import { readYaml } from '../../src/policy/read-yaml.ts';
import { optionsOfConfigMap } from '../../src/policy/rule-options.ts';

const seed = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');

describe('the YAML of the design', () => {
  test('its policies are read as they stand', () => {
    const { objects, problems, warnings } = readYaml(seed('policies.yaml'), 'policies.yaml');
    assert.deepEqual([problems, warnings], [[], []]);
    const policies = objects.map((object) => {
      assert.deepEqual(CablePolicies.validate(object), []);
      return readPolicy({ metadata: object['metadata'] as ObjectMeta, spec: object['spec'] });
    });
    assert.deepEqual(
      policies.map(({ name, rules: [rule], problems: wrong }) => [name, rule?.driver, wrong]),
      [
        ['default', 'ipsec', []],
        ['default', 'vxlan', []],
        ['on-prem-to-cloud', 'ipsec', []],
      ],
    );
    assert.deepEqual(policies[2]?.rules[0]?.left.selector, { matchLabels: { env: 'production' } });
  });

  test('its additions to the Submariner resource have the types that it gives', () => {
    const additions: unknown = parse(seed('submariner-additions.yaml'));
    assert.ok(isJsonObject(additions));
    const spec = Submariner.schema.properties?.['spec']?.properties ?? {};
    for (const [field, schema] of Object.entries(additions)) {
      assert.ok(spec[field], field);
      const type = isJsonObject(schema) ? schema['type'] : undefined;
      // The table of the design has a name where its schema has an object: both are taken.
      if (field !== 'cableDriverCustomConfig') assert.equal(spec[field].type, type, field);
    }
    for (const cableDriverCustomConfig of ['cable-driver-config', { configMapName: 'a', namespace: 'b' }]) {
      const object = {
        apiVersion: Submariner.apiVersion,
        kind: 'Submariner',
        metadata: { name: 'submariner' },
        spec: { clusterID: 'east', cableDriverCustomConfig },
      };
      assert.deepEqual(Submariner.validate(object), []);
    }
  });

  test('its ConfigMap gives the option, although its text stands beside its key', () => {
    const { objects, warnings } = readYaml(seed('cable-driver-config.yaml'), 'config.yaml');
    const [config] = objects;
    assert.deepEqual(config?.['metadata'], { name: 'cable-driver-config', namespace: 'submariner-operator' });
    assert.deepEqual(optionsOfConfigMap(config?.['data'] as Record<string, string>), { data: { vxlanID: '100' } });
    assert.equal(warnings.length, 2);
  });
});
