import assert from 'node:assert/strict';
import { it } from 'node:test';
import { conditionState } from './condition-state.ts';

it('the sign of a condition follows its status, its name and the state of its object', () => {
  for (const [type, status, state, sign] of [
    ['Ready', 'True', 'ready', 'ready'],
    ['Ready', 'False', 'broken', 'broken'],
    ['Ready', 'False', 'progress', 'progress'],
    ['Ready', 'Unknown', 'broken', 'unknown'],
    ['Ready', '', undefined, 'unknown'],
    ['StaleConfig', 'True', 'broken', 'warning'],
    ['RotationPending', 'False', 'ready', 'none'],
    ['ResolvedRefs', 'False', undefined, 'broken'],
  ] as const)
    assert.equal(conditionState(type, status, state), sign, `${type} ${status}`);
});
