import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { filesWith } from './test-peers.ts';

const root = dirname(import.meta.dirname);
const files = globSync(['operators/**/*.test.ts', 'packages/**/*.test.ts', 'apps/**/*.test.ts'], {
  cwd: root,
  exclude: (name) => name.includes('node_modules'),
});
const filesOf = (peer: string) => filesWith(peer, files, root);

test('tests are found by the peer that their helpers name', () => {
  assert.ok(filesOf('envoy').includes('operators/sesame/test/real/routing.test.ts'));
  assert.ok(filesOf('envoy').includes('operators/sesame/test/end-to-end/end-to-end.test.ts'));
  assert.ok(filesOf('cables').includes('operators/submariner/test/gateway/failover.test.ts'));
  assert.ok(filesOf('kubernetes').includes('apps/capstan/test/real-control-plane.test.ts'));
  assert.ok(filesOf('registry').length > 0);
  assert.ok(filesOf('openstack').length > 0);
  assert.ok(filesOf('kroxylicious').length > 0);
});

test('tests that need no peer are found by none, and no peer by the start of its name', () => {
  assert.ok(!filesOf('envoy').includes('operators/sesame/test/xds/server.test.ts'));
  assert.deepEqual(filesOf('gateway'), []);
  assert.deepEqual(filesOf('nothing'), []);
});
