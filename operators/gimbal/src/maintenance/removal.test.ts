import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinedNames, joinedRemovals } from './removal.ts';
import { withoutContourServices } from './routes/contour-removal.ts';

test('a proxy’s rule whose last service goes remembers all that it had, mirrors of others too', () => {
  const services = [
    { name: 'x-a', port: 80 },
    { name: 'y-m', port: 80, mirror: true },
  ];
  const { spec, removed } = withoutContourServices({ routes: [{ services }] }, (name) => name === 'x-a', 'respond');
  assert.deepEqual(spec, { routes: [{ directResponsePolicy: { statusCode: 503 } }] });
  assert.deepEqual(removed, [{ at: 'routes[0]', services }]);
});

test('a second backend that goes does not take along what the first one left on a route', () => {
  const [first, second] = ['[{"at":"routes[0]","services":[1]}]', '[{"at":"routes[1]","services":[2]}]'];
  assert.equal(joinedRemovals(first, second), '[{"at":"routes[0]","services":[1]},{"at":"routes[1]","services":[2]}]');
  assert.equal(joinedRemovals(joinedRemovals(first, second), second), joinedRemovals(first, second));
  assert.equal(joinedRemovals(first, undefined), first);
  assert.equal(joinedRemovals(undefined, second), second);
  assert.equal(joinedRemovals('not JSON', second), second);
  assert.equal(joinedNames('y', 'x'), 'x,y');
  assert.equal(joinedNames('x', 'x'), 'x');
  assert.equal(joinedNames('x', undefined), 'x');
});
