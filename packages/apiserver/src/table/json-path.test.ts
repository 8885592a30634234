import assert from 'node:assert/strict';
import { it } from 'node:test';
import { compileJsonPath } from './json-path.ts';

const object = {
  spec: {
    replicas: 3,
    'a.b': 'dotted',
    ports: [
      { name: 'x', port: 1 },
      { name: 'y', port: 2 },
      { name: 'z', port: 3 },
    ],
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Synced', status: 'False' },
    ],
  },
};

const cases: [path: string, found: unknown[]][] = [
  ['.spec.replicas', [3]],
  ['{.spec.replicas}', [3]],
  ['$.spec.replicas', [3]],
  ['.spec.missing.deeper', []],
  [".spec['a.b']", ['dotted']],
  ['.spec.a\\.b', ['dotted']],
  ['.spec.ports[0].name', ['x']],
  ['.spec.ports[-1].name', ['z']],
  ['.spec.ports[-2:].name', ['y', 'z']],
  ['.spec.ports[0:3:2].name', ['x', 'z']],
  ['.spec.ports[*].port', [1, 2, 3]],
  ['.spec.ports[0,2].port', [1, 3]],
  [".spec.ports[0]['name','port']", ['x', 1]],
  ['.status.conditions[?(@.type=="Ready")].status', ['True']],
  [".status.conditions[?(@.type == 'Synced')].status", ['False']],
  ['.spec.ports[?(@.port>=2)].name', ['y', 'z']],
  ['.spec.ports[?(@.port!=2)].name', ['x', 'z']],
  ['.spec.ports[?(@.host)].name', []],
  ['..type', ['Ready', 'Synced']],
];

for (const [path, found] of cases) {
  it(`finds ${JSON.stringify(found)} at ${path}`, () => assert.deepEqual(compileJsonPath(path)?.(object), found));
}

for (const path of ['.spec[', '.spec.ports[?(@.a==)]', '.a[b]']) {
  it(`does not take ${path} for a path`, () => assert.equal(compileJsonPath(path), undefined));
}
