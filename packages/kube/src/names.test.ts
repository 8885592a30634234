import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  validateAnnotationKey,
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validatePathSegment,
  validatePortName,
  validateQualifiedName,
  validateWildcardDns1123Subdomain,
} from './names.ts';

const long = (length: number) => 'a'.repeat(length);

const table: [name: string, validate: (value: string) => string[], good: string[], bad: string[]][] = [
  [
    'a DNS label',
    validateDns1123Label,
    ['a', '1', 'a-1', 'a--b', long(63)],
    ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'é', long(64), 'a\n'],
  ],
  [
    'a DNS subdomain',
    validateDns1123Subdomain,
    ['a', 'a.b', '1.2-3.c', long(253)],
    ['', '.a', 'a.', 'a..b', 'a.-b', 'A.b', long(254)],
  ],
  ['a DNS-1035 label', validateDns1035Label, ['a', 'a1', 'a-1'], ['1a', '', 'a-', 'a.b', long(64)]],
  [
    'a wildcard subdomain',
    validateWildcardDns1123Subdomain,
    ['*.a', '*.a.b'],
    ['*', '*.', 'a.b', '*.*.a', 'x.*.a', `*.${long(252)}`],
  ],
  [
    'a qualified name',
    validateQualifiedName,
    ['a', 'A.b_c-1', 'example.com/Name', `${long(253)}/${long(63)}`],
    ['', '/a', 'a/', 'a/b/c', 'A.com/a', '-a', 'a.', long(64)],
  ],
  ['an annotation key', validateAnnotationKey, ['Example.COM/Name'], ['a/b/c', '_']],
  ['a label value', validateLabelValue, ['', 'a', 'A.b_c-1', long(63)], ['-a', 'a ', 'a/b', long(64)]],
  ['a path segment', validatePathSegment, ['system:node', 'a b', ''], ['.', '..', 'a/b', '50%']],
  ['a port name', validatePortName, ['http', 'h2-c', '8080x'], ['', '80', 'a--b', '-a', 'a-', 'HTTP', long(16)]],
];

describe('validators of names', () => {
  for (const [name, validate, good, bad] of table) {
    it(`${name} is accepted if it is valid and refused otherwise`, () => {
      for (const value of good) assert.deepEqual(validate(value), [], JSON.stringify(value));
      for (const value of bad) assert.notDeepEqual(validate(value), [], JSON.stringify(value));
    });
  }

  it('invalid names are refused in the words of kube-apiserver', () => {
    assert.deepEqual(validateDns1123Label('a.b'), ['must not contain dots']);
    assert.deepEqual(validateDns1123Subdomain('A'), [
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ]);
    assert.deepEqual(validateDns1035Label('1'), [
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    ]);
    assert.deepEqual(validateQualifiedName('/'), [
      'prefix part must be non-empty',
      'name part must be non-empty',
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ]);
    assert.deepEqual(validateLabelValue(long(64)), ['must be no more than 63 bytes']);
    assert.deepEqual(validateDns1123Label(long(64)), ['must be no more than 63 characters']);
    assert.deepEqual(validateQualifiedName(`${long(254)}/a`), ['prefix part must be no more than 253 bytes']);
  });

  it('limits count bytes, as on the server', () => {
    assert.equal(validateLabelValue('é'.repeat(32)).includes('must be no more than 63 bytes'), true);
  });

  it('names are judged exactly as by the patterns in the messages', () => {
    const cases: [validate: (value: string) => string[], alphabet: string][] = [
      [validateDns1123Label, 'ab1-.A'],
      [validateDns1123Subdomain, 'a1-.A'],
      [validateDns1035Label, 'a1-.'],
      [validateLabelValue, 'aB1-_./'],
    ];
    for (const [validate, alphabet] of cases) {
      const shown = /regex used for validation is '(.*)'/.exec(validate('/').join())?.[1] ?? assert.fail();
      fc.assert(
        fc.property(fc.string({ unit: fc.constantFrom(...alphabet.split('')), maxLength: 12 }), (value) => {
          assert.equal(validate(value).length === 0, new RegExp(`^(?:${shown})$`).test(value), value);
        }),
      );
    }
  });

  it('invalid names of any length are refused quickly', () => {
    const started = performance.now();
    for (const validate of [validateDns1123Subdomain, validateQualifiedName, validateLabelValue]) {
      assert.notDeepEqual(validate(`${'a-'.repeat(200_000)}!`), []);
      assert.notDeepEqual(validate(`${'a'.repeat(400_000)}!`), []);
    }
    // A linear check takes milliseconds, a quadratic one minutes.
    assert.ok(performance.now() - started < 2_000);
  });
});
