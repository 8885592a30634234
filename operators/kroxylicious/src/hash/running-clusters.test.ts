import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatRunning, inForce, parseRunning } from './running-clusters.ts';

const older = { hash: 'v1.aaaaaaaaaaaa.key.1111111111' };
const newer = { hash: 'v1.aaaaaaaaaaaa.key.2222222222' };
const plain = { hash: 'v1.bbbbbbbbbbbb' };

describe('the configuration in force of a broken cluster', () => {
  test('is the one that runs, whatever was recorded since', () => {
    const running = parseRunning(formatRunning([{ name: 'one', ...older }]));
    assert.equal(inForce([newer, older], 'one', running), older);
    assert.equal(inForce([older, plain], 'one', running), older);
  });

  test('is undefined if the Deployment does not run the cluster', () => {
    assert.equal(inForce([newer], 'two', parseRunning(formatRunning([{ name: 'one', ...older }]))), undefined);
  });

  test('is listed by the first eight digits of its plain and of its keyed part', () => {
    const text = formatRunning([
      { name: 'one', hash: 'v1.0123456789ab.key.fedcba987654' },
      { name: 'two', hash: 'v1.0123456789ab' },
    ]);
    assert.equal(text, 'one=01234567fedcba98,two=01234567');
    assert.deepEqual([...parseRunning(text).keys()], ['one', 'two']);
    assert.equal(parseRunning('').size, 0);
  });

  test('is unknown if the one that runs is not remembered', () => {
    const running = parseRunning(formatRunning([{ name: 'one', ...plain }]));
    assert.equal(inForce([newer, older], 'one', running), 'unknown');
  });

  test('is the newest one without a Deployment, or with one of an earlier release', () => {
    assert.equal(inForce([newer, older], 'one', undefined), newer);
    assert.equal(inForce([newer, older], 'one', parseRunning('one,two')), newer);
    assert.equal(inForce([newer], 'one', parseRunning('')), undefined);
  });
});
