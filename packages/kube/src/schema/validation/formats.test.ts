import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCheck } from './formats.ts';

const CASES: [format: string, yes: string[], no: string[]][] = [
  [
    'date-time',
    ['2026-01-31T08:00:00Z', '2026-01-31t08:00:00.123+01:00'],
    ['2026-02-30T08:00:00Z', '2026-01-31', '2026-01-31T25:00:00Z'],
  ],
  ['date', ['2024-02-29'], ['2026-02-29', '2026-1-1', '2026-13-01']],
  ['duration', ['0', '30s', '1h30m', '-1.5h', '22 ns', '3 days'], ['', 'soon', '30', '5 parsecs']],
  ['uri', ['https://a.b:8443/c?d', '/path', 'urn:x'], ['', 'a b', 'relative', 'http://a:port/']],
  ['email', ['a@b.c', 'A B <a@b.c>'], ['a', '@b.c', 'a@']],
  ['hostname', ['localhost', 'a-b.example.com'], ['-a', 'a..b', `${'a'.repeat(64)}.com`, 'a_b.com']],
  ['ipv4', ['10.0.0.1', '010.0.0.1'], ['10.0.0', '10.0.0.256', '::1']],
  [
    'ipv6',
    ['::', '::1', 'fe80::1:2', '1:2:3:4:5:6:7:8', '::ffff:10.0.0.1'],
    ['10.0.0.1', '1::2::3', '1:2:3:4:5:6:7:8:9', 'g::', '12345::'],
  ],
  ['cidr', ['10.0.0.0/8', 'fd00::/64'], ['10.0.0.0', '10.0.0.0/33', 'fd00::/129']],
  ['mac', ['01:23:45:67:89:ab', '0123.4567.89ab', '01-23-45-67-89-ab-cd-ef'], ['01:23', '01:23-45:67:89:ab']],
  ['uuid', ['123E4567-e89b-12d3-a456-426614174000', '123e4567e89b12d3a456426614174000'], ['123e4567']],
  ['uuid4', ['123e4567-e89b-42d3-a456-426614174000'], ['123e4567-e89b-12d3-a456-426614174000']],
  ['byte', ['YQ==', 'YWJj'], ['', 'YQ', '!!!!']],
  ['isbn', ['0321751043', '978-0321751041'], ['0321751044']],
  ['creditcard', ['4111 1111 1111 1111'], ['4111 1111 1111 1112']],
  ['hexcolor', ['#fff', 'A0B1C2'], ['#ffff']],
  ['rgbcolor', ['rgb(0, 128,255)'], ['rgb(0,0,256)']],
  ['k8s-short-name', ['a-b'], ['a-', 'A', 'a'.repeat(64)]],
  ['k8s-long-name', ['a.b-c'], ['a.-', 'a..b']],
  ['password', ['anything'], []],
];

for (const [format, yes, no] of CASES) {
  test(`the format ${format} is what Go's parsers take`, () => {
    const check = formatCheck(format);
    assert.ok(check);
    for (const text of yes) assert.ok(check(text), `${format} takes ${JSON.stringify(text)}`);
    for (const text of no) assert.ok(!check(text), `${format} refuses ${JSON.stringify(text)}`);
  });
}

test('a format that the server ignores has no check', () => {
  assert.equal(formatCheck('colour'), undefined);
  assert.equal(formatCheck('toString'), undefined);
});
