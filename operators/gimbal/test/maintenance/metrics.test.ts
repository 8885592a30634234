import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRegistry } from '@capstan/reconcile';
import { DiscoveryBackend } from '../../src/index.ts';
import { registerMaintenanceMetrics } from '../../src/maintenance/index.ts';
import { played, proxy } from './fixtures.ts';

test('drained and blocked routes of each backend are metrics', () =>
  played({ objects: [proxy('r', { 'x-a': 1, 'y-b': 1 }), proxy('s', { 'x-a': 1 })] }, async (stage) => {
    const registry = createRegistry();
    const world = stage.program.runtime.worlds.get('');
    registerMaintenanceMetrics(registry, () => world?.peek(DiscoveryBackend) ?? []);
    await stage.setStatus('x', 'Maintenance');
    const { body } = registry.expose();
    assert.match(body, /gimbal_operator_routes_drained\{backend="x"\} 1\n/);
    assert.match(body, /gimbal_operator_routes_drained\{backend="y"\} 0\n/);
    assert.match(body, /gimbal_operator_routes_blocked\{backend="x"\} 1\n/);
    assert.match(body, /gimbal_operator_routes_without_capacity\{backend="x"\} 1\n/);
  }));
