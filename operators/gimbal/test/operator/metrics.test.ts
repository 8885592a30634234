import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRegistry } from '@capstan/reconcile';
import { createGimbal } from '../../src/index.ts';
import { played, SECOND } from './fixtures.ts';

test('backends, their conditions, errors and credentials are figures', () =>
  played({}, async (stage) => {
    const registry = createRegistry();
    const { clock } = stage;
    createGimbal().metrics?.({
      registry,
      clock,
      peek: (kind) => stage.program.runtime.worlds.get('')?.peek(kind) ?? [],
    });
    await stage.rollOut();
    await stage.report();
    await stage.secret('east-kubecfg', SECOND);
    await stage.secret('east-kubecfg', 'A s3cr3t-wrong');
    await stage.clock.advance(100_000);
    const { body } = registry.expose();
    for (const line of [
      'gimbal_operator_backends{type="kubernetes",clusterstatus="Enabled"} 1',
      'gimbal_operator_backend_condition{name="east",condition="DiscovererReady"} 1',
      'gimbal_operator_backend_condition{name="east",condition="CredentialsValid"} 0',
      'gimbal_operator_backend_errors{backend="east",type="RotationFailed"} 1',
      'gimbal_operator_credential_rotations_total{backend="east",result="success"} 1',
      'gimbal_operator_credential_rotations_total{backend="east",result="refused"} 1',
      'gimbal_operator_discoverer_restarts_total{backend="east"} 0',
      'gimbal_operator_routes_drained{backend="east"} 0',
    ])
      assert.ok(body.includes(`${line}\n`), `${line}\n\n${body}`);
    assert.match(body, /gimbal_operator_secret_age_seconds\{backend="east"\} 10\d/);
    assert.ok(!body.includes('s3cr3t'));
  }));
