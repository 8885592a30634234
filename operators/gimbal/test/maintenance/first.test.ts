import assert from 'node:assert/strict';
import { test } from 'node:test';
import { condition, played, proxy, routeWrites, stateOn } from './fixtures.ts';

test('a backend in maintenance is drained by one write a route, and gets its weights back by another', () =>
  played({ objects: [proxy('r', { 'x-a': 50, 'y-b': 50 }), proxy('s', { 'y-a': '_' })] }, async (stage) => {
    const before = await stage.route();
    stage.transport.clear();
    await stage.setStatus('x', 'Maintenance');
    assert.deepEqual(await stage.weights(), [0, 50]);
    assert.deepEqual(routeWrites(stage), ['PATCH r']);
    const drained = await stage.backend();
    assert.deepEqual(condition(drained, 'Drained'), { status: 'True', reason: 'Drained' });
    assert.equal(drained.status?.maintenance?.routes, 1);
    stage.transport.clear();
    await stage.setStatus('x', 'Enabled');
    assert.deepEqual(routeWrites(stage), ['PATCH r']);
    const after = await stage.route();
    assert.equal(
      JSON.stringify((after as { spec?: unknown }).spec),
      JSON.stringify((before as { spec?: unknown }).spec),
    );
    assert.deepEqual(after.metadata.annotations, before.metadata.annotations);
    assert.equal(stateOn(after), undefined);
    assert.deepEqual(condition(await stage.backend(), 'Drained'), { status: 'False', reason: 'Enabled' });
    stage.transport.clear();
    await stage.restart();
    assert.deepEqual(stage.transport.writes, []);
  }));
