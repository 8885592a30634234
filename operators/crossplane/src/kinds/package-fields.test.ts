import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FunctionPackage, Provider } from './index.ts';

for (const kind of [Provider, FunctionPackage])
  test(`the runtimeConfigRef of a ${kind.kind} gets the apiVersion and kind that it leaves out, as upstream's CRD gives them`, () => {
    const withReference = (runtimeConfigRef: object | undefined) => {
      const spec = { package: 'registry.example/a:v1', ...(runtimeConfigRef && { runtimeConfigRef }) };
      const { apiVersion, kind: name } = kind;
      const object = kind.withDefaults({ apiVersion, kind: name, metadata: { name: 'a' }, spec } as never);
      return (object as unknown as { spec: { runtimeConfigRef: object } }).spec.runtimeConfigRef;
    };
    const ours = { apiVersion: 'pkg.crossplane.io/v1beta1', kind: 'DeploymentRuntimeConfig' };
    assert.deepEqual(withReference({ name: 'mine' }), { ...ours, name: 'mine' });
    assert.deepEqual(withReference(undefined), { ...ours, name: 'default' });
    const theirs = { apiVersion: 'example.org/v1', kind: 'Other', name: 'mine' };
    assert.deepEqual(withReference(theirs), theirs);
  });
