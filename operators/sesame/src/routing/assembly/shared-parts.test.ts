import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Fragment } from '../../envoy/index.ts';
import { VIRTUAL_HOST } from '../listener/virtual-host.ts';
import { SharedParts } from './shared-parts.ts';

const part = (name: string, domain = name) => ({
  name,
  fragment: new Fragment(VIRTUAL_HOST, { name, domains: [domain] }, true),
  requires: [`cds/${domain}`],
});
const namesOf = (fragments: readonly Fragment[]) => fragments.map(({ value }) => String(value['domains']));

suite('the parts of a composed resource', () => {
  test('are in the order of their names, however many there are', () => {
    const parts = new SharedParts();
    const names = Array.from({ length: 300 }, (_, index) => `host-${String((index * 7) % 300).padStart(3, '0')}`);
    for (const name of names) parts.put(name, part(name));
    const { size, fragments } = parts.take();
    assert.equal(size, 300);
    assert.deepEqual(namesOf(fragments()), names.toSorted());
  });

  test('that were handed out stay as they were, and a change of one requires its clusters only', () => {
    const parts = new SharedParts();
    for (let index = 0; index < 300; index++) parts.put(`k${index}`, part(`host-${index}`));
    const before = parts.take();
    parts.put('k200', part('host-200', 'changed'));
    const after = parts.take();
    assert.deepEqual(after.requires, ['cds/changed']);
    assert.notEqual(after.hash, before.hash);
    assert.ok(!namesOf(before.fragments()).includes('changed'));
    assert.equal(namesOf(after.fragments()).filter((name) => name === 'changed').length, 1);
    assert.equal(after.fragments().length, 300);
    parts.put('k200', part('host-200'));
    assert.equal(parts.take().hash, before.hash);
  });

  test('go and come back', () => {
    const parts = new SharedParts();
    for (const name of ['a', 'b', 'c']) parts.put(name, part(name));
    parts.take();
    parts.put('b', undefined);
    assert.ok(parts.isChanged);
    assert.deepEqual(namesOf(parts.take().fragments()), ['a', 'c']);
    parts.put('b', part('b'));
    parts.put('c', part('c', 'other'));
    assert.deepEqual(namesOf(parts.take().fragments()), ['a', 'b', 'other']);
  });
});
