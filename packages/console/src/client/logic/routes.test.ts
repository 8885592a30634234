import assert from 'node:assert/strict';
import { it, describe as suite } from 'node:test';
import fc from 'fast-check';
import { describe, linkToObject, parseObjectId, parseRoute, placeOf } from './routes.ts';

suite('routes', () => {
  it('every page has an address', () => {
    for (const [path, page] of [
      ['/', 'overview'],
      ['/time', 'time'],
      ['/explore', 'explore'],
      ['/ingress/default/edge', 'ingress'],
      ['/o/-/Secret/default/token', 'object'],
      ['/o/-', 'missing'],
      ['/toString', 'missing'],
      ['/%E0%A4%A', 'missing'],
    ] as const)
      assert.equal(parseRoute(path, '').page, page, path);
  });

  it('an address of an object gives the same object again, whatever its name is', () => {
    const word = fc.string({ minLength: 1 }).filter((text) => !text.includes('/') && text !== '-');
    fc.assert(
      fc.property(fc.constantFrom('', 'east'), word, word, word, (world, kind, namespace, name) => {
        const place = { world, kind, key: `${namespace}/${name}` };
        const { pathname, search } = new URL(linkToObject(place), 'http://localhost');
        const route = parseRoute(pathname, search);
        // The URL parser resolves `.` and `..`; no name of Kubernetes is one of them.
        if ([kind, namespace, name].some((part) => part === '.' || part === '..')) return;
        assert.deepEqual(placeOf(route.parts), place);
      }),
    );
  });

  it('reads ids of reports', () => {
    assert.deepEqual(parseObjectId('Secret default/a'), { world: '', kind: 'Secret', key: 'default/a' });
    const other = parseObjectId('east/HTTPProxy.projectcontour.io shop/web');
    assert.deepEqual(other, { world: 'east', kind: 'HTTPProxy.projectcontour.io', key: 'shop/web' });
    assert.equal(other && describe(other), 'HTTPProxy shop/web in east');
    assert.equal(parseObjectId('nothing'), undefined);
  });
});
