import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseFlags } from '@capstan/reconcile/command-line';
import { DEFAULT_SETTINGS, settingsOf } from '../settings.ts';
import { FLAGS } from './flags.ts';

describe('flags of the operator', () => {
  test('set the settings of the operator', () => {
    assert.deepEqual(settingsOf(parseFlags(FLAGS, {})), DEFAULT_SETTINGS);
    const given = { image: ['x:1'], 'quiet-period': ['1.5s'], 'cluster-domain': ['k8s.example'] };
    assert.deepEqual(settingsOf(parseFlags(FLAGS, given)), {
      image: 'x:1',
      quietMs: 1500,
      clusterDomain: 'k8s.example',
      sidecarWebhook: true,
      webhookImage: 'capstan:0.1.0',
      webhookNamespace: 'kroxylicious-webhook',
      webhookReplicas: 2,
      webhookFailurePolicy: 'Fail',
      uninjectedPodPolicy: 'Admit',
    });
  });

  for (const [flag, value, remedy] of [
    ['image', '', /name of an image/],
    ['quiet-period', 'soon', /duration/],
    ['quiet-period', '-1s', /duration/],
    ['cluster-domain', 'a_b', /DNS name/],
    ['webhook-replicas', '0', /1 to 100/],
    ['webhook-failure-policy', 'ignore', /Fail, Ignore/],
    ['uninjected-pod-policy', 'Refuse', /Admit, Deny/],
  ] as const)
    test(`--${flag}=${value} is refused with a remedy`, () =>
      assert.throws(() => parseFlags(FLAGS, { [flag]: [value] }), remedy));
});
