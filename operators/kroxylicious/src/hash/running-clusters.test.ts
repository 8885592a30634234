import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatRunning, inForce, parseRunning } from './running-clusters.ts';

const older = { hash: 'v1.aaaaaaaaaaaa.key.1111111111' };
const newer = { hash: 'v1.aaaaaaaaaaaa.key.2222222222' };
const plain = { hash: 'v1.bbbbbbbbbbbb' };

describe('of a cluster that broke', () => {
  test('what runs stays in force, whatever was recorded since', () => {
    const running = parseRunning(formatRunning([{ name: 'one', ...older }]));
    assert.equal(inForce([newer, older], 'one', running), older);
    assert.equal(inForce([older, plain], 'one', running), older);
  });

  test('nothing is in force that nothing of runs', () => {
    assert.equal(inForce([newer], 'two', parseRunning(formatRunning([{ name: 'one', ...older }]))), undefined);
  });

  test('what runs and is not remembered is reported', () => {
    const running = parseRunning(formatRunning([{ name: 'one', ...plain }]));
    assert.equal(inForce([newer, older], 'one', running), 'unknown');
  });

  test('without a Deployment, or with one of an earlier release, the newest counts', () => {
    assert.equal(inForce([newer, older], 'one', undefined), newer);
    assert.equal(inForce([newer, older], 'one', parseRunning('one,two')), newer);
    assert.equal(inForce([newer], 'one', parseRunning('')), undefined);
  });
});
