import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatFilter, localFilter, parseFilter, toggleTerm } from './row-filter.ts';

const row = {
  world: '',
  id: 'HTTPProxy.projectcontour.io shop/web',
  kind: 'HTTPProxy.projectcontour.io',
  key: 'shop/web',
  state: 'broken',
  operator: 'sesame',
  reason: 'NotValid',
  message: 'Secret shop/tls does not exist',
};

describe('the filter of the explorer', () => {
  it('reads terms and words, and a word with an unknown prefix is a word', () => {
    assert.deepEqual(parseFilter('  is:unready web http://x '), [
      { field: 'is', value: 'unready' },
      { value: 'web' },
      { value: 'http://x' },
    ]);
    assert.equal(formatFilter(parseFilter('is:unready  web')), 'is:unready web');
  });

  it('all terms must match', () => {
    for (const [q, isMatch] of [
      ['', true],
      ['WEB tls', true],
      ['is:unready kind:httpproxy ns:shop operator:sesame', true],
      ['is:broken web', true],
      ['is:ready', false],
      ['ns:sho', false],
      ['web absent-word', false],
    ] as const)
      assert.equal(localFilter(q)?.(row), isMatch, q);
  });

  it('leaves readers to the server', () => {
    assert.equal(localFilter('reads:Secret/shop/tls'), undefined);
  });

  it('a facet sets, replaces and removes its term', () => {
    assert.equal(toggleTerm('web', 'is', 'broken'), 'web is:broken');
    assert.equal(toggleTerm('web is:broken', 'is', 'ready'), 'web is:ready');
    assert.equal(toggleTerm('web is:broken', 'is', 'broken'), 'web');
  });
});
