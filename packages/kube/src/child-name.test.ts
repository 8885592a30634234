import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { childName, childNameWithin, generateName } from './child-name.ts';
import { validateDns1123Label } from './names.ts';

describe('names of children', () => {
  it('a child name joins its parts by dashes if the result fits', () => {
    assert.equal(childName('web'), 'web');
    assert.equal(childName('web', 'proxy', '0'), 'web-proxy-0');
    assert.equal(childName('a'.repeat(63)), 'a'.repeat(63));
  });

  it('a child name that does not fit is cut to a readable beginning and a hash', () => {
    const name = childName('a-very-long-name-of-a-provider-that-goes-on-and-on', 'with-a-revision-name');
    assert.match(name, /^a-very-long-name-of-a-provider-that-goes-on-and-on-w-[bcdfghjklmnpqrstvwxz2456789]{10}$/);
    assert.equal(name.length, 63);
  });

  it('child names stay the same from release to release, because children are found by them', () => {
    assert.equal(childName('x'.repeat(64)), `${'x'.repeat(52)}-shf9v8v48d`);
  });

  it('child names are DNS labels for all inputs', () => {
    assert.match(childName('My.App/v1'), /^my-app-v1-[a-z0-9]{10}$/);
    assert.match(childName('…'), /^[a-z0-9]{10}$/);
    fc.assert(
      fc.property(
        fc.string({ maxLength: 100 }),
        fc.array(fc.string(), { maxLength: 3 }),
        fc.integer({ min: 16, max: 63 }),
        (base, parts, max) => {
          const name = childNameWithin(max, base, ...parts);
          assert.deepEqual(validateDns1123Label(name), []);
          assert.ok(name.length <= max);
        },
      ),
    );
  });

  it('child names differ if their parts differ beyond the cut', () => {
    const tail = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.'), minLength: 1, maxLength: 8 });
    const parts = fc.array(tail, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other));
        const base = 'x'.repeat(60);
        assert.notEqual(childName(base, ...one, 'end'), childName(base, ...other, 'end'));
      }),
    );
    assert.notEqual(childName('My'), childName('my'));
    assert.notEqual(childName('a.b'), childName('a-b'));
  });

  it('a limit that leaves no space for a hash is refused', () => {
    assert.throws(() => childNameWithin(12, 'web'), /leave no space for a hash; allow at least 16 characters/);
  });
});

describe('generated names', () => {
  it('a generated name ends in five characters of the alphabet without vowels', () => {
    const values = [0, 0.5, 0.999999, 0.1, 0.25];
    let next = 0;
    assert.equal(
      generateName('web-', () => values[next++] ?? 0),
      'web-br9dj',
    );
  });

  it('a generated name fits a DNS label', () => {
    assert.equal(
      generateName('a'.repeat(100), () => 0),
      `${'a'.repeat(58)}bbbbb`,
    );
  });
});
