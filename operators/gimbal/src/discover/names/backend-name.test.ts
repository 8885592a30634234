import assert from 'node:assert/strict';
import { it } from 'node:test';
import { backendNameProblem } from './backend-name.ts';

it('a backend may be called what Gimbal allows, up to what fits a label', () => {
  for (const name of ['cluster', 'a-b', 'a--b', 'abc1', 'a', 'a'.repeat(63)]) {
    assert.equal(backendNameProblem(name), undefined, name);
  }
  for (const name of ['', '_', '1a', '-a', 'a-', 'a b', 'A', 'a.b', 'a!', 'a'.repeat(64)]) {
    assert.notEqual(backendNameProblem(name), undefined, name);
  }
});
