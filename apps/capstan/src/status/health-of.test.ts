import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { healthOf, isInProgress } from './health-of.ts';

const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason = 'Because') => ({
  type,
  status,
  reason,
  message: 'a message',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const site = (status: object | undefined, metadata: KubeObject['metadata'] = {}): KubeObject => ({
  apiVersion: 'example.capstan.dev/v1',
  kind: 'Site',
  metadata,
  ...(status && { status }),
});

const cases: [what: string, object: KubeObject, state: string, reason?: string][] = [
  ['all conditions true', site({ conditions: [condition('Ready', 'True')] }), 'Ready'],
  [
    'a condition false',
    site({ conditions: [condition('Ready', 'True'), condition('ResolvedRefs', 'False', 'Missing')] }),
    'NotReady',
    'ResolvedRefs: Missing',
  ],
  ['a condition unknown', site({ conditions: [condition('Ready', 'Unknown')] }), 'NotReady', 'Ready: Because'],
  [
    'an error of the reconciler',
    site({ conditions: [condition('Ready', 'True'), condition('ReconcileError', 'True', 'Threw')] }),
    'Error',
    'ReconcileError: Threw',
  ],
  [
    'a rollback that is held',
    site({ conditions: [condition('RolledBack', 'True', 'RolledBack')] }),
    'NotReady',
    'RolledBack',
  ],
  ['work that goes on', site({ conditions: [condition('Ready', 'True'), condition('Progressing', 'False')] }), 'Ready'],
  [
    'a backend that takes requests',
    site({ conditions: [condition('Drained', 'False', 'Enabled'), condition('RotationPending', 'False', 'Stable')] }),
    'Ready',
  ],
  ['a backend that is drained', site({ conditions: [condition('Drained', 'True', 'Drained')] }), 'Ready'],
  [
    'a backend that cannot be drained',
    site({ conditions: [condition('Drained', 'False', 'NoCapacity')] }),
    'NotReady',
    'Drained: NoCapacity',
  ],
  [
    'a start beside a problem of the remote side',
    site({
      conditions: [condition('DiscovererReady', 'False', 'Starting'), condition('Synced', 'False', 'Unreachable')],
    }),
    'NotReady',
    'Synced: Unreachable',
  ],
  ['no status yet', site(undefined), 'Pending'],
  [
    'a status of an older generation',
    site({ observedGeneration: 1, conditions: [condition('Ready', 'True')] }, { generation: 2 }),
    'Pending',
  ],
  [
    'paused by a person',
    site({ conditions: [condition('Ready', 'True')] }, { annotations: { 'capstan.dev/paused': 'true' } }),
    'Paused',
    'Paused',
  ],
  [
    'being deleted',
    site(
      { conditions: [condition('Ready', 'True')] },
      { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] },
    ),
    'Deleting',
    'since 2026-01-01T00:00:00Z',
  ],
];

describe('the health of an object', () => {
  for (const [what, object, state, reason = ''] of cases) {
    test(`${what}: ${state}`, () => {
      const health = healthOf(object);
      assert.equal(health.state, state);
      assert.equal(health.reason, reason);
    });
  }
});

test('an object of a kind that only complains is ready while nothing is said, and not when something is', () => {
  assert.equal(healthOf(site(undefined), true).state, 'Ready');
  assert.equal(healthOf(site({ conditions: [condition('Valid', 'False')] }), true).state, 'NotReady');
});

test('the errors that a condition lists stand in place of a message that only points to them', () => {
  const errors = [{ message: 'port 99999 is too large' }, null, { message: 7 }, { message: 'no host' }];
  const listed = { ...condition('Valid', 'False', 'ErrorPresent'), message: 'see Errors', errors };
  assert.equal(healthOf(site({ conditions: [listed] })).message, 'port 99999 is too large; no host');
  assert.equal(healthOf(site({ conditions: [{ ...listed, errors: [] }] })).message, 'see Errors');
});

test('a discoverer that starts is in progress, and one whose remote side is away is not', () => {
  const starting = [condition('DiscovererReady', 'False', 'Starting'), condition('Synced', 'False', 'NotYet')];
  assert.equal(isInProgress(healthOf(site({ conditions: starting }))), true);
  const away = [condition('DiscovererReady', 'False', 'Starting'), condition('Synced', 'False', 'Unreachable')];
  assert.equal(isInProgress(healthOf(site({ conditions: away }))), false);
});
