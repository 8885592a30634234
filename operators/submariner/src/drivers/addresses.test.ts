import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  canonicalCidr,
  contains,
  firstAddressOf,
  isCidr,
  lastAddressOf,
  macOf,
  overlaps,
  privateIPOfMac,
  vtep6Of,
  vtepOf,
} from './addresses.ts';

test('subnets of both families are recognised, and nothing else is', () => {
  for (const cidr of ['10.0.0.0/8', '0.0.0.0/0', '10.1.2.3/32', 'fd00::/8', '::/0', '2001:db8::1/128'])
    assert.equal(isCidr(cidr), true, cidr);
  for (const text of ['10.0.0.0', '10.0.0.0/33', '300.0.0.0/8', 'fd00::/129', 'fd00::', '10.0.0.0/8/8', '', 'x/8'])
    assert.equal(isCidr(text), false, text);
});

test('a subnet has one way to write it', () => {
  const cases = [
    ['10.1.2.3/16', '10.1.0.0/16'],
    ['fd10:0001:0:0::5/64', 'fd10:1::/64'],
    ['::ffff:10.0.0.1/112', '::ffff:a00:0/112'],
  ] as const;
  for (const [given, wanted] of cases) assert.equal(canonicalCidr(given), wanted);
});

test('subnets of different families never overlap; a subnet overlaps what it contains', () => {
  assert.equal(overlaps('10.0.0.0/8', '10.200.0.0/16'), true);
  assert.equal(overlaps('10.0.0.0/16', '10.1.0.0/16'), false);
  assert.equal(overlaps('fd10::/16', 'fd10:1::/64'), true);
  assert.equal(overlaps('0.0.0.0/0', '::/0'), false);
  assert.equal(contains('fd10::/16', 'fd10:ffff::1'), true);
  assert.equal(contains('fd10::/16', '10.0.0.1'), false);
});

test('the first and the last address of a subnet are within it', () => {
  assert.equal(firstAddressOf('10.1.0.0/16'), '10.1.0.1/16');
  assert.equal(firstAddressOf('fd10:1::/64'), 'fd10:1::1/64');
  assert.equal(lastAddressOf('10.1.0.0/16'), '10.1.255.254');
  const subnet = fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 })).map(([ip, bits]) => `${ip}/${bits}`);
  const subnet6 = fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 })).map(([ip, bits]) => `${ip}/${bits}`);
  fc.assert(
    fc.property(fc.oneof(subnet, subnet6), (cidr) => {
      assert.ok(contains(cidr, lastAddressOf(cidr)));
      assert.ok(contains(cidr, firstAddressOf(cidr).split('/')[0] ?? ''));
      assert.equal(canonicalCidr(canonicalCidr(cidr)), canonicalCidr(cidr));
      assert.ok(overlaps(cidr, canonicalCidr(cidr)));
    }),
  );
});

test('addresses of links follow from the private address', () => {
  assert.equal(vtepOf('172.31.99.7'), '241.31.99.7');
  assert.equal(vtep6Of('241.31.99.7'), 'fd53:7562::f11f:6307');
  fc.assert(fc.property(fc.ipV4(), (ip) => privateIPOfMac(macOf(ip)) === ip));
});
