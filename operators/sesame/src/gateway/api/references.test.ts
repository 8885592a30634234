import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { GATEWAY_GROUP, type GrantSpec, isPermitted } from './references.ts';

const route = { group: GATEWAY_GROUP, kind: 'HTTPRoute', namespace: 'web' };
const to = (namespace: string) => ({ group: '', kind: 'Service', namespace, name: 'shop' });
const grant = (change: (grant: { from: object; to: object }) => void = () => undefined): GrantSpec => {
  const parts = { from: { ...route } as object, to: { group: '', kind: 'Service' } as object };
  change(parts);
  return { from: [parts.from], to: [parts.to] } as GrantSpec;
};

suite('ReferenceGrants', () => {
  const check = (grants: readonly GrantSpec[]) =>
    isPermitted(route, to('shop'), (namespace) => (namespace === 'shop' ? grants : []));

  test('are not needed within a namespace', () => {
    assert.equal(
      isPermitted(route, to('web'), () => []),
      true,
    );
  });

  test('allow what they name: all objects of a kind, or one', () => {
    assert.equal(check([]), false);
    assert.equal(check([grant()]), true);
    assert.equal(check([grant(({ to: target }) => Object.assign(target, { name: 'shop' }))]), true);
    assert.equal(check([grant(({ to: target }) => Object.assign(target, { name: 'other' }))]), false);
  });

  test('do not allow another kind, group or namespace on either side', () => {
    for (const change of [{ kind: 'GRPCRoute' }, { group: '' }, { namespace: 'elsewhere' }])
      assert.equal(check([grant(({ from }) => Object.assign(from, change))]), false, JSON.stringify(change));
    for (const change of [{ kind: 'Secret' }, { group: 'x' }])
      assert.equal(check([grant(({ to: target }) => Object.assign(target, change))]), false, JSON.stringify(change));
  });
});
