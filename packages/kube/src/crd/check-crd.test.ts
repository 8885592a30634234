import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CustomResourceDefinition } from '../builtin/index.ts';
import { object, string } from '../schema/builder.ts';
import { checkCrd } from './check-crd.ts';
import { defineKind } from './define-kind.ts';

const valid = defineKind({
  group: 'example.io',
  version: 'v1',
  kind: 'Widget',
  scope: 'Namespaced',
  spec: object({ a: string() }),
}).crd();
const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

const version = (change: object) => (crd: CustomResourceDefinition) => {
  Object.assign(crd.spec.versions[0] ?? {}, change);
};

const CASES: [title: string, change: (crd: CustomResourceDefinition) => unknown, ...messages: string[]][] = [
  [
    'another name',
    (crd) => (crd.metadata.name = 'x'),
    'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group',
  ],
  [
    'an unknown scope',
    (crd) => (crd.spec.scope = 'World'),
    'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
  ],
  [
    'a short name in capitals',
    (crd) => (crd.spec.names.shortNames = ['WD']),
    `spec.names.shortNames[0]: Invalid value: "WD": ${label}`,
  ],
  [
    'a list kind like the kind',
    (crd) => (crd.spec.names.listKind = 'Widget'),
    'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
  ],
  [
    'a version without a schema',
    version({ schema: undefined }),
    'spec.versions[0].schema.openAPIV3Schema: Required value',
  ],
  [
    'a warning on a version in force',
    version({ deprecationWarning: 'go' }),
    'spec.versions[0].deprecationWarning: Invalid value: "go": can only be set for deprecated versions',
  ],
  [
    'a column of an unknown type',
    version({ additionalPrinterColumns: [{ name: 'A', type: 'text', jsonPath: '.a' }] }),
    'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
  ],
  [
    'a column of no path',
    version({ additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: 'a' }] }),
    'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
  ],
  [
    'a scale outside of spec',
    version({ subresources: { scale: { specReplicasPath: '.a', statusReplicasPath: '.status.n' } } }),
    'spec.subresources.scale.specReplicasPath: Invalid value: ".a": should be a json path under .spec',
  ],
  [
    'a selectable field that is not there',
    version({ selectableFields: [{ jsonPath: '.spec.b' }] }),
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field',
  ],
  [
    'a selectable object',
    version({ selectableFields: [{ jsonPath: '.spec' }] }),
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
  ],
];

for (const [title, change, ...messages] of CASES) {
  test(`a CRD with ${title} is refused`, () => {
    const crd = structuredClone(valid);
    change(crd);
    assert.deepEqual(
      checkCrd(crd).map(({ message }) => message),
      messages,
    );
  });
}

test('exactly one version is stored', () => {
  const crd = structuredClone(valid);
  version({ storage: false })(crd);
  assert.match(
    checkCrd(crd)[0]?.message ?? '',
    /^spec\.versions: Invalid value: .*: must have exactly one version marked as storage version$/,
  );
});
