import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Fragment } from '../../envoy/index.ts';
import { sharedRoutes, VIRTUAL_HOST } from '../envoy/route-message.ts';
import { type SharedContent, SharedParts } from './piece.ts';

const part = (name: string, domain = name) => ({
  name,
  fragment: new Fragment(VIRTUAL_HOST, { name, domains: [domain] }, true),
  requires: [`cds/${domain}`],
});
const fragmentsOf = ({ chunks }: SharedContent<typeof VIRTUAL_HOST>) => chunks.flatMap(({ fragments }) => fragments);
const namesOf = (content: SharedContent<typeof VIRTUAL_HOST>) =>
  fragmentsOf(content).map(({ value }) => String(value.domains));

suite('the parts of a composed resource', () => {
  test('are in the order of their names, however many there are', () => {
    const parts = new SharedParts<typeof VIRTUAL_HOST>();
    const names = Array.from({ length: 300 }, (_, index) => `host-${String((index * 7) % 300).padStart(3, '0')}`);
    for (const name of names) parts.put(name, part(name));
    const content = parts.take();
    assert.equal(content.size, 300);
    assert.deepEqual(namesOf(content), names.toSorted());
  });

  test('the parts of a composed resource that were handed out stay as they were, and a change of one requires its clusters only', () => {
    const parts = new SharedParts<typeof VIRTUAL_HOST>();
    for (let index = 0; index < 300; index++) parts.put(`k${index}`, part(`host-${index}`));
    const before = parts.take();
    parts.put('k200', part('host-200', 'changed'));
    const after = parts.take();
    assert.deepEqual(after.requires, ['cds/changed']);
    assert.notEqual(after.hash, before.hash);
    assert.ok(!namesOf(before).includes('changed'));
    assert.equal(namesOf(after).filter((name) => name === 'changed').length, 1);
    assert.equal(fragmentsOf(after).length, 300);
    parts.put('k200', part('host-200'));
    assert.equal(parts.take().hash, before.hash);
  });

  test('cost a change the bytes of a small share of them', () => {
    const parts = new SharedParts<typeof VIRTUAL_HOST>();
    const name = (index: number) => `host-${String(index).padStart(4, '0')}`;
    for (let index = 0; index < 2_000; index++) parts.put(`k${index}`, part(name(index)));
    const buffersOf = () => {
      const { chunks, hash } = parts.take();
      return sharedRoutes('all', chunks, hash, []).buffers('grpc', 'whole');
    };
    const before = new Set(buffersOf());
    const newBytes = () => {
      const buffers = buffersOf();
      const fresh = buffers.filter((buffer) => !before.has(buffer));
      for (const buffer of buffers) before.add(buffer);
      return fresh.reduce((sum, { length }) => sum + length, 0) / buffers.reduce((sum, { length }) => sum + length, 0);
    };
    parts.put('k700', part(name(700), 'changed'));
    assert.ok(newBytes() < 0.1);
    parts.put('k701', undefined);
    assert.ok(newBytes() < 0.1);
    parts.put('new', part('host-0701a'));
    assert.ok(newBytes() < 0.1);
    const expected = Array.from({ length: 2_000 }, (_, index) => name(index));
    assert.deepEqual(namesOf(parts.take()), expected.with(700, 'changed').with(701, 'host-0701a'));
  });

  test('come and go in any order', () => {
    const parts = new SharedParts<typeof VIRTUAL_HOST>();
    const present = new Set<string>();
    let seed = 1;
    for (let turn = 0; turn < 5_000; turn++) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      const name = `host-${(seed >>> 8) % 700}`;
      // More come than go, then more go than come.
      const enters = (seed >>> 20) % 8 < (turn < 2_500 ? 6 : 1);
      if (enters) present.add(name);
      else present.delete(name);
      parts.put(name, enters ? part(name) : undefined);
      if (turn % 50 === 0) assert.deepEqual(namesOf(parts.take()), [...present].sort());
    }
    for (const name of present) parts.put(name, undefined);
    assert.deepEqual(parts.take().chunks, []);
  });

  test('go and come back', () => {
    const parts = new SharedParts<typeof VIRTUAL_HOST>();
    for (const name of ['a', 'b', 'c']) parts.put(name, part(name));
    parts.take();
    parts.put('b', undefined);
    assert.ok(parts.isChanged);
    assert.deepEqual(namesOf(parts.take()), ['a', 'c']);
    parts.put('b', part('b'));
    parts.put('c', part('c', 'other'));
    assert.deepEqual(namesOf(parts.take()), ['a', 'b', 'other']);
  });
});
